#include "objects/config_map.h"

#include "objects/reading.h"

namespace lockstep {

template <typename Reader>
void decode(Reader& in, ConfigMap& config_map, DecodeContext& context) {
  in.object([&](std::string_view key) {
    if (key == "metadata") {
      decode(in, config_map.meta, context);
    } else if (key == "data") {
      config_map.data = read_string_map(in, context);
    } else if (key == "immutable") {
      config_map.immutable = in.boolean();
    } else {
      in.skip();
    }
  });
}
LOCKSTEP_INSTANTIATE_DECODE(ConfigMap);

}  // namespace lockstep

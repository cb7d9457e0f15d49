#include "objects/namespace.h"

#include "objects/reading.h"

namespace lockstep {

template <typename Reader>
void decode(Reader& in, Namespace& ns, DecodeContext& context) {
  in.object([&](std::string_view key) {
    if (key == "metadata") {
      decode(in, ns.meta, context);
    } else if (key == "status") {
      in.object([&](std::string_view field) {
        if (field == "phase") {
          ns.phase = in.text(context.pool);
        } else {
          in.skip();
        }
      });
    } else {
      in.skip();
    }
  });
}
LOCKSTEP_INSTANTIATE_DECODE(Namespace);

}  // namespace lockstep

// A ConfigMap; binary data is left out.
#pragma once

#include "objects/kind.h"
#include "objects/meta.h"

namespace lockstep {

struct ConfigMap {
  ObjectMeta meta;
  StringMap data;
  bool immutable = false;

  bool operator==(const ConfigMap&) const = default;
};

template <>
struct Kind<ConfigMap> {
  static const ResourceType& type() { return resource::config_maps; }
};
template <typename Reader>
void decode(Reader& in, ConfigMap& config_map, DecodeContext& context);

}  // namespace lockstep

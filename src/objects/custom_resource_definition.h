// A CustomResourceDefinition, without the schemas: which kinds the cluster knows.
#pragma once

#include <vector>

#include "objects/kind.h"
#include "objects/meta.h"

namespace lockstep {

struct CustomResourceDefinition {
  struct Version {
    Text name;
    bool served = false;
    bool storage = false;
    bool has_status = false;  // the subresource

    bool operator==(const Version&) const = default;
  };

  ObjectMeta meta;
  Text group;
  Text kind;
  Text list_kind;
  Text plural;
  Text singular;
  std::vector<Text> short_names;
  bool namespaced = false;
  std::vector<Version> versions;
  bool established = false;

  bool operator==(const CustomResourceDefinition&) const = default;
};

template <>
struct Kind<CustomResourceDefinition> {
  static const ResourceType& type() { return resource::custom_resource_definitions; }
};
template <typename Reader>
void decode(Reader& in, CustomResourceDefinition& definition, DecodeContext& context);

}  // namespace lockstep

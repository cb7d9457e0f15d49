// Which fields of which objects a support bundle keeps, and the form of their values. What is not
// in these lists does not leave the cluster.
#pragma once

#include <span>
#include <string_view>

namespace lockstep::doctor {

enum class Shape {
  none,      // has fields of its own only
  name,      // of an object, an address: lower case, digits, '-', '.', ':'
  word,      // letters, digits, '-', '_', '.', '/': reasons, types, keys of taints
  plain,     // one short line: versions, images, times, quantities
  number,    // or true, false
  scalar,    // plain or number
  uuid,      // as the API server makes them
  text,      // anything, without credentials
  labels,    // a map: well-known keys, plain values
  notes,     // annotations: Lockstep's (as text) and the GPU Operator's (plain)
  amounts,   // a map of names to quantities
  options,   // a list of arguments, of which the names of the flags are kept
  settings,  // data of a ConfigMap: Lockstep's as text, of others nothing
};

struct KeptField {
  std::string_view path;  // "status.conditions[].reason"
  Shape shape;
};

// Fields of one part of an object, and where objects of a resource have it.
struct KeptPart {
  std::string_view at;  // "spec.template.", or empty
  std::span<const KeptField> fields;
};

// `resource` as in ResourceType::full_name(). Empty for one that is not collected.
std::span<const KeptPart> kept_parts(std::string_view resource);

// All resources of which anything is kept.
std::span<const std::string_view> kept_resources();

// "nvidia.com/gpu.product", "topology.kubernetes.io/zone", "app".
bool is_kept_label(std::string_view key);

}  // namespace lockstep::doctor

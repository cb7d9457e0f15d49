// The DRA half of a simulated node: what the kubelet plugin publishes, how a claim is prepared, and
// the record of every attempt, which is the truth for invariants.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "data/json.h"
#include "objects/resource_claim.h"
#include "sim/actors/claim_book.h"
#include "sim/actors/machine.h"

namespace lockstep::sim {

inline constexpr std::string_view dra_driver_name = "gpu.nvidia.com";

struct Preparation {
  std::string node;
  ObjectKey pod;
  std::string claim;
  Time at;
  std::string error;  // empty: it went well
};

// Every attempt, in order.
class Preparations {
 public:
  void add(Preparation attempt);

  const std::vector<Preparation>& all() const { return all_; }
  size_t succeeded(std::string_view node) const;
  size_t failed(std::string_view node) const;
  // Failures at or after a time.
  std::vector<Preparation> failed_after(std::string_view node, Time time) const;

 private:
  std::vector<Preparation> all_;
  // Places in all_, by node.
  std::map<std::string, std::vector<size_t>, std::less<>> by_node_;
};

// "580.105.8" for "580.105.08".
std::string semantic_version(std::string_view version);
// The ResourceSlice of a node as a plugin with this handle publishes it.
std::string slice_name(std::string_view node);
Json slice_object(const Machine& machine, const NvmlHandle& handle, std::string_view node_uid,
                  int64_t pool_generation);

// What a strict driver says of a claim's opaque parameters; empty: it can read them.
std::string config_error(const Json& claim);

// Whether a device of the claim is this driver's.
bool needs_plugin(const ResourceClaim& claim);
// The plugin's answer: it prepares every device that is this driver's. `plugin` may be null where
// none is. Parameters that cannot be read are a permanent failure.
PrepareAnswer prepare_claim(const Machine& machine, const NvmlHandle* plugin,
                            const ResourceClaim& claim, const Json& document);

}  // namespace lockstep::sim

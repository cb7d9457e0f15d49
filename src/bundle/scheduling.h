// On which nodes a component's pods may run, as the user said it in flags, written into its values
// at the places that the registry names.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bundle/registry.h"
#include "data/json.h"

namespace lockstep::bundle {

// The label that nodes must have, by key.
using NodeLabels = std::map<std::string, std::string>;

struct Toleration {
  std::string key = {};
  std::string op = {};  // Equal, Exists
  std::string value = {};
  std::string effect = {};  // empty: every effect

  bool operator==(const Toleration&) const = default;
};

struct Taint {
  std::string key = {};
  std::string value = {};
  std::string effect = {};

  bool operator==(const Taint&) const = default;
};

struct SchedulingFlags {
  NodeLabels system_node_selector;
  NodeLabels accelerated_node_selector;
  // Empty: everything is tolerated.
  std::vector<Toleration> system_tolerations;
  std::vector<Toleration> accelerated_tolerations;
  // Keeps workloads from new nodes until those are ready.
  std::optional<Taint> workload_gate;
  NodeLabels workload_selector;
  int64_t nodes = 0;  // 0: not said
};

// "k=v" of a flag that may be given many times. A key twice with two values is an error.
Result<void> add_label(std::string_view flag, std::string_view text, NodeLabels& labels);
// "k=v:Effect", or "k:Effect" for any value of k.
Result<Toleration> parse_toleration(std::string_view flag, std::string_view text);
// "k=v:Effect", or "k:Effect" for no value.
Result<Taint> parse_taint(std::string_view flag, std::string_view text);

// "k=v:Effect"
std::string print_taint(const Taint& taint);

// Writes at the paths of the component's entry. Node selectors, the workload gate, the workload
// selector and the number of nodes are written only when they were given; tolerations always, as
// AICR does it: what was given, or else [{operator: Exists}]. Existing values are replaced; a path
// through a scalar or a list is an error.
Result<void> apply_scheduling(const Component& entry, const SchedulingFlags& flags,
                              JsonObject& values);

}  // namespace lockstep::bundle

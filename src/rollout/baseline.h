// What the gates of a wave measured on its nodes before the upgrade, and the comparison with it
// afterwards: error counts as differences, speeds as ratios. Pure: the Jobs that measure and the
// ConfigMap that keeps it are the controller's.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "rollout/bake.h"
#include "rollout/gate_end.h"
#include "rollout/rollout_spec.h"
#include "rollout/rollout_view.h"

namespace lockstep::rollout {

// Built-in gates with numbers that the same node's numbers of before say something about.
bool is_compared(const GateSpec& gate);
bool has_compared_gates(const WaveSpec& wave);

// Of one gate on one node: of several GPUs the slowest, and their errors together.
struct GateNumbers {
  std::map<std::string, double> speeds = {};   // "inference tflops"
  std::map<std::string, int64_t> counts = {};  // "ecc uncorrected_aggregate"
  std::string none = {};                       // why there are no measurements

  bool empty() const { return speeds.empty() && counts.empty(); }
  bool operator==(const GateNumbers&) const = default;
};
GateNumbers numbers_of(const GateEnd& end);
// None, with a reason that is not too long to be kept.
GateNumbers no_numbers(std::string_view why);

struct NodeBaseline {
  bool in_use = false;  // pods of users used its GPUs meanwhile
  // None: it ran the new driver already, so that there is nothing from before.
  std::map<std::string, GateNumbers> gates = {};

  bool operator==(const NodeBaseline&) const = default;
};

struct WaveBaseline {
  std::string id = {};  // see baseline_id()
  std::string revision = {};
  Time taken = {};
  int64_t left_out = 0;  // nodes beyond the most that are kept
  std::map<std::string, NodeBaseline> nodes = {};

  // A line for itself, then one for each node.
  std::string text() const;
  static Result<WaveBaseline> parse(std::string_view text);
  bool operator==(const WaveBaseline&) const = default;
};
// A ConfigMap holds a megabyte. In a wave of more nodes the driver was compared on enough of them.
inline constexpr size_t most_baseline_nodes = 1000;
inline constexpr size_t longest_none = 80;  // letters of GateNumbers::none

// What distinguishes the baseline of one opening of a wave from another's: a version that is tried
// again weeks later is measured again.
std::string baseline_id(const RolloutView& view);

// The gate's result on the node: its own result, and how its numbers compare with those of before.
// `before` is null when nothing was kept: then every comparison is inconclusive.
GateWord compare(const std::string& gate, const std::string& node, const WaveBaseline* before,
                 const GateEnd& end, const GateWord& own, bool in_use);

// The speeds before and after for the bake's analysis, where they are comparable.
std::vector<SpeedPair> speed_pairs(const std::string& gate, const std::string& node,
                                   const WaveBaseline& before, const GateNumbers& after,
                                   bool in_use);

}  // namespace lockstep::rollout

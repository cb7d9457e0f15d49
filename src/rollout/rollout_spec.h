// What a DriverRollout asks for, as typed values: which nodes go in which wave, what each wave must
// pass, when nodes may be touched at all, and what happens when a wave fails.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "data/json.h"
#include "objects/selector.h"
#include "rollout/window.h"

namespace lockstep::rollout {

enum class DriverKind { cluster_policy, nvidia_driver, daemon_set };

struct DriverTarget {
  DriverKind kind = DriverKind::cluster_policy;
  std::string name;

  bool operator==(const DriverTarget&) const = default;
};

// The place of the version matrix in Git.
struct MatrixPlace {
  std::string repository;
  std::string branch = "main";
  std::string path = "gpu-version-matrix.yaml";

  bool operator==(const MatrixPlace&) const = default;
};

// Which of the nodes that are in no earlier wave.
struct NodeSelection {
  enum class Kind { labels, count, percent, rest };
  Kind kind = Kind::rest;
  LabelSelector labels;
  int64_t number = 0;  // of count and percent

  // "the rest", "10% of all", "gpu-canary=true".
  std::string text() const;
  bool operator==(const NodeSelection&) const = default;
};

struct BakeSpec {
  Duration duration = hours(48);
  std::optional<double> min_gpu_hours = {};  // otherwise by the wave's nodes
  Duration max_duration = hours(96);
  double alpha = 0.05;
  double speed_margin = 0.05;

  bool operator==(const BakeSpec&) const = default;
};

enum class GateKind { built_in, job, prometheus, webhook };

struct GateSpec {
  std::string name;  // "training"
  GateKind kind = GateKind::built_in;
  // Its verdict is shown and decides nothing.
  bool dry_run = false;
  // What its kind needs: the pod template, the query and its conditions, the address.
  Json details;

  bool operator==(const GateSpec& other) const;
};

// The users who may approve a wave, besides the cluster's access rules.
struct Approvers {
  std::vector<std::string> groups;  // a member of one of them; empty: every user
  bool not_author = false;          // not the user who last changed the spec

  bool operator==(const Approvers&) const = default;
};

struct WaveSpec {
  std::string name;
  NodeSelection nodes;
  std::vector<std::string> stratify;  // labels: at least one node of every kind
  std::string spread_by;              // a label: as evenly as can be over its values
  std::optional<int64_t> max_parallel;
  std::vector<GateSpec> gates;
  std::optional<BakeSpec> bake;
  bool needs_approval = false;
  Approvers approvers;

  bool operator==(const WaveSpec&) const = default;
};

enum class OnFailure { roll_back, hold };

// What becomes of a node whose driver pod came up with a revision that no open wave allows it.
enum class OutsideWave { contain, accept };

struct RolloutSpec {
  DriverTarget driver;
  // Set: the version comes from a matrix in Git; promotion and rollback are commits there.
  std::optional<MatrixPlace> matrix;
  Json policy;                  // upgradePolicy's fields, over the driver's own; null: none
  std::vector<WaveSpec> waves;  // never empty; the last takes all remaining nodes
  std::string group_by;         // a label: nodes of equal value are upgraded together
  std::vector<Window> windows;  // none: always
  OnFailure on_failure = OnFailure::roll_back;
  OutsideWave outside_wave = OutsideWave::contain;
  bool paused = false;
  std::string author;  // who last changed the spec, if recorded
  // Not empty: nothing begins.
  std::vector<std::string> problems;
};

// `object` is a whole DriverRollout. A problem names the field by its path.
RolloutSpec read_rollout_spec(const Json& object);

// One canary node of each GPU model, then a tenth, then the rest.
std::vector<WaveSpec> default_waves();

// Who last changed the spec. The chart's admission policy demands it if a wave has
// notAuthor.
inline constexpr std::string_view spec_by_annotation = "lockstep.dev/spec-by";
inline constexpr std::string_view gpu_model_label = "nvidia.com/gpu.product";

}  // namespace lockstep::rollout

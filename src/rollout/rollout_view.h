// Everything that a decision about a rollout reads, as one value.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "fleet/reason.h"
#include "fleet/state.h"
#include "objects/node.h"
#include "rollout/rollout_spec.h"
#include "rollout/rollout_status.h"

namespace lockstep::rollout {

struct RolloutNode {
  std::shared_ptr<const Node> node;
  fleet::State state = fleet::State::unknown;
  bool in_sync = false;      // its driver is of the newest revision and ready
  bool out_of_sync = false;  // it is of another
  bool skipped = false;
  ReasonName reason;  // why it waits or failed
  // It failed with another revision than the newest: it is tried again by itself.
  bool old_failure = false;
  // Why it cannot be upgraded now: "not Ready"; empty: it can.
  std::string excluded = {};
  // Of its driver pod: its DaemonSet, revision and image; empty: it has no pod.
  std::string set = {};
  std::string revision = {};
  std::string image = {};

  std::string name() const { return node->meta.name.str(); }
};

// A wave's nodes, as they were written down when it opened.
struct RecordedWave {
  std::string revision;  // see revision_id()
  std::vector<std::string> nodes;

  bool operator==(const RecordedWave&) const = default;
};

// One text for a set of revisions.
std::string revision_id(const DriverRevision& revision);

// The record is of the rollout that `status` describes. During a rollback these are the waves of
// the version that is rolled back; records of an earlier rollout say nothing.
bool is_of_rollout(const RecordedWave& record, const RolloutStatus& status);

// What a user asks for: lockstep.dev/command on the rollout.
struct Command {
  std::string verb;  // "promote", "abort", "retry", "rollback"; see command_rules.h
  std::string wave;  // of promote: which one is meant; empty: the current one
  std::string by;
  Time at;
  std::string text;    // as it was written, or its digest: distinguishes one command from the next
  bool force = false;  // of promote: ends a bake
  // Of the user: those that approve a wave of the rollout.
  std::vector<std::string> groups = {};

  static std::optional<Command> parse(std::string_view annotation);
  // Of a whole DriverRollout: its author as verified by admission, where that is
  // known.
  static std::optional<Command> of(const Json& rollout);
  Json to_json() const;
};
inline constexpr std::string_view command_annotation = "lockstep.dev/command";
// The chart's admission policy lets a user write only their own name and groups here.
inline constexpr std::string_view command_by_annotation = "lockstep.dev/command-by";
inline constexpr std::string_view command_groups_annotation = "lockstep.dev/command-groups";

// The analysis of the current wave's bake.
struct BakeView {
  Outcome outcome = Outcome::running;
  bool hold = false;  // it is not the driver, or not the driver alone
  std::string text;
  std::string detectable;
};

// The outcome of the requested commit to the matrix since this phase began. `check` commits
// nothing: it tests whether what the matrix says could be reverted.
enum class GitStep { promote, take_back, check };
struct GitOutcome {
  GitStep step = GitStep::promote;
  std::string commit;  // empty with an error; otherwise which one did it
  std::string error;
  // It is tried again by itself, a little later.
  bool again = false;
  std::string version = {};  // of the driver that it was asked for
};

// What came of restoring the driver's object since this phase began.
struct RestoreOutcome {
  std::string error;  // empty: it is as it was; otherwise it is tried again, a little later

  bool is_done() const { return error.empty(); }
};

struct RolloutView {
  std::string name;
  int64_t generation = 0;
  RolloutSpec spec;
  RolloutStatus status;
  std::optional<Command> command;
  // Another rollout of the same driver is in progress: its name.
  std::string other;
  std::vector<RolloutNode> nodes;  // all that it covers
  std::vector<std::optional<RecordedWave>> recorded;
  // Of what was measured before each wave: see baseline_id(); empty: nothing is kept.
  std::vector<std::string> baselines;
  // Not set: some DaemonSet's newest revision is not known at this moment.
  DriverRevision target;
  std::string target_image = {};  // of one of its DaemonSets
  // What the driver's object says at this moment: it changes before its DaemonSets do. Nothing: not
  // known.
  std::optional<DriverFields> object;
  std::optional<RestoreOutcome> restore;
  // Before the newest, as far as the cluster's revisions show.
  DriverRevision previous;
  int64_t max_failures = 1;
  // Of the current wave, by gate; one that is missing has not been started.
  std::vector<Verdict> gates;
  // What the API server said when it last refused a gate's Job; empty: it did not.
  std::string gate_refusal = {};
  std::optional<BakeView> bake;
  std::optional<GitOutcome> git;
  // Why the controller may not use the repository of spec.matrix; empty: it may.
  std::string refused_repository = {};
  // Why a rollback by Git or by the object is unavailable; empty: it is available.
  std::string no_rollback;
};

}  // namespace lockstep::rollout

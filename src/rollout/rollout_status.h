// What a rollout remembers, as its status: which phase, which wave, for which revision of the
// driver the waves are open, and what each wave came to. Bounded: counts and the last verdicts,
// never a row per node.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "data/json.h"
#include "fleet/reason.h"
#include "rollout/driver_fields.h"
#include "rollout/rollout_spec.h"

namespace lockstep::rollout {

using fleet::Reason;
using fleet::ReasonName;

enum class Phase {
  pending,
  upgrading,
  gating,
  baking,
  awaiting_approval,
  promoting,
  complete,
  held,
  rolling_back,
  rolled_back,
};
std::string_view to_string(Phase phase);
std::optional<Phase> phase_of(std::string_view name);
// Nothing more happens by itself, until the version changes again.
bool is_over(Phase phase);

// Which driver: the newest revision of each DaemonSet, and the version that users know: what the
// driver's object says, or the image.
struct DriverRevision {
  std::map<std::string, std::string> revisions;  // "namespace/name" -> hash
  std::string version;
  // What the driver's object says for it; nothing: not known.
  std::optional<DriverFields> fields = {};

  bool is_set() const { return !revisions.empty(); }
  // The DaemonSet ("namespace/name") has this revision in it.
  bool is_of(const std::string& set, std::string_view hash) const {
    auto at = revisions.find(set);
    return at != revisions.end() && at->second == hash;
  }
  // Versions are for users; the revision is what pods are made of. What is not known is the same as
  // nothing.
  bool same_as(const DriverRevision& other) const {
    return is_set() && revisions == other.revisions;
  }
  // The same revision, or another one of the same image.
  bool is_same_driver(const DriverRevision& other) const;
  bool operator==(const DriverRevision&) const = default;
};

enum class Outcome { running, passed, failed, inconclusive, error };
std::string_view to_string(Outcome outcome);
Outcome outcome_of(std::string_view name);

// What a gate, a bake or a wave came to, with the numbers and the limit.
struct Verdict {
  std::string name;  // of the gate
  Outcome outcome = Outcome::running;
  std::string text;
  bool dry_run = false;

  bool operator==(const Verdict&) const = default;
};

struct WaveStatus {
  std::string name;
  int64_t nodes = 0;
  int64_t done = 0;
  int64_t failed = 0;
  int64_t pending = 0;  // not upgraded, failed or skipped
  Time opened;
  Time bake_began;
  // Only Passed continues: by itself, or because a user accepted the risk.
  Outcome verdict = Outcome::running;
  std::string verdict_text;
  std::vector<Verdict> gates;
  int64_t gate_round = 0;  // how often a user has retried them
  std::string bake;        // the last result of the analysis
  std::string detectable;  // the detectable effect
  std::string approved_by;
  Time approved_at;

  bool operator==(const WaveStatus&) const = default;
};

struct HistoryEntry {
  Time at;
  Phase phase = Phase::pending;
  std::string wave;
  ReasonName reason;
  std::string text;
  std::string by;  // the user's name; empty: the rollout by itself

  bool operator==(const HistoryEntry&) const = default;
};

// It was rolled back, and is not begun again by itself.
struct RejectedDriver {
  DriverRevision driver;
  Time at;
  ReasonName reason;

  bool operator==(const RejectedDriver&) const = default;
};

struct RolloutStatus {
  Phase phase = Phase::pending;
  Time phase_since;
  int64_t generation = 0;  // of the spec that was last acted on
  ReasonName reason;
  std::string message;
  // The driver that the fleet ran when no upgrade was in progress.
  DriverRevision stable;
  DriverRevision from;
  DriverRevision to;
  // The driver before `from`, where the change from `from` to `to` does not affect the driver: what
  // users mean by the previous version.
  DriverRevision before;
  // The driver for which the waves are open: the new one, or in a rollback the old one.
  DriverRevision open_for;
  Time started;
  // Waves 0 to open_waves - 1 are open, the last of them is the current one.
  int64_t open_waves = 0;
  // Nodes that have not begun stay as they are, whatever their wave.
  bool closed = false;
  // In Held, because the spec changed: the phase that continues when it fits again.
  std::optional<Phase> held_from;
  // In a rollback: how many waves had been opened.
  int64_t waves_to_return = 0;
  // And the driver's object was restored: a later change of it is not ours.
  bool restored = false;
  std::vector<RejectedDriver> rejected;  // the last ones
  std::vector<WaveStatus> waves;
  int64_t total = 0;
  std::map<std::string, int64_t> by_state;
  std::map<ReasonName, int64_t> by_reason;
  // Of a matrix in Git: the commits that promoted the version, and that reverted it.
  std::string promote_commit;
  std::string revert_commit;
  // The user's last command that was done, so that it is not done twice.
  std::string last_command;
  std::vector<HistoryEntry> history;  // the last ones

  int64_t current_wave() const { return open_waves - 1; }
  bool operator==(const RolloutStatus&) const = default;
};

// Whether the image is of this driver, whatever its revision. Nothing: neither the object's fields
// nor the image's tag say it.
std::optional<bool> is_image_of(const DriverRevision& driver, std::string_view image);

// During a rollback: a driver pod of this revision and image has to roll back, whichever wave its
// node is in.
bool runs_rejected(const RolloutStatus& status, const std::string& set, std::string_view revision,
                   std::string_view image);

inline constexpr size_t most_history = 30;
inline constexpr size_t most_rejected = 10;

// The spec begins with the waves that have opened, in their order.
bool has_opened_waves(const RolloutSpec& spec, const RolloutStatus& status);
// "canary, tenth".
std::string name_opened_waves(const RolloutStatus& status);

// Of a whole DriverRollout. What cannot be read is as if it were not there.
RolloutStatus read_rollout_status(const Json& object);
// `status` with conditions and the columns that kubectl prints. At most 64 KB: where texts or gates
// are many, they are cut short.
Json rollout_status_to_json(const RolloutStatus& status);

}  // namespace lockstep::rollout

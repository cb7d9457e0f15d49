// What a rollout records so that it can be rolled back by the driver's object, which drivers were
// rolled back and do not start again by themselves, and the steps of restoring the object.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "fleet/reason.h"
#include "rollout/rollout_view.h"

namespace lockstep::rollout {

// While the fleet is to run `target`: what the object says for it.
void record_stable(const DriverRevision& target, RolloutStatus& status);

// Where the object's watch was behind, what it says is known a moment after the revision.
void learn_fields(const DriverRevision& target, RolloutStatus& status);

// Why a rollout that is to roll back on failure does not start; nothing: it may.
std::optional<Reason> obstacle_to_start(const RolloutView& view, const RolloutStatus& status);
// Why it cannot be rolled back now; empty: it can.
std::string obstacle_to_rollback(const RolloutView& view, const RolloutStatus& status);

// Null: it was not rolled back, or a user allows it again.
const RejectedDriver* rejection_of(const RolloutStatus& status, const DriverRevision& driver);
// Of what the cluster asks for: where the driver's object has not been seen yet, by its image.
const RejectedDriver* rejection_of_target(const RolloutView& view, const RolloutStatus& status);
void reject(RolloutStatus& status, const DriverRevision& driver, Time at,
            const fleet::ReasonName& reason);
void allow(RolloutStatus& status, const DriverRevision& driver);
Reason rejection_reason(const RejectedDriver& rejected, const RolloutStatus& status,
                        const std::string& rollout);

// Why the object that says which driver the nodes have cannot be restored; empty: it can.
std::string obstacle_to_restore(const RolloutSpec& spec);

struct RestoreStep {
  enum class Kind { write, restored, wait, unavailable, rejected };
  Kind kind;
  Reason reason;
};
// In a rollback, until the operator has made a revision of what was restored. The object is written
// once: a tool that sets the version again is not fought.
RestoreStep next_restore_step(const RolloutView& view, const RolloutStatus& status);

}  // namespace lockstep::rollout

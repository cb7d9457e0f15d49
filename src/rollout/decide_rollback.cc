// From the decision to roll back to the last node that runs the version before.
#include <algorithm>

#include <fmt/format.h>

#include "rollout/restoring.h"
#include "rollout/rollout_look.h"
#include "rollout/rollout_matrix.h"
#include "upgrade/pod_names.h"

namespace lockstep::rollout {

// The change does not affect the driver, and the fleet ran another one before it.
bool Look::has_driver_before() const {
  return next_.before.is_set() && next_.to.is_same_driver(next_.from) &&
         !next_.to.is_same_driver(next_.before);
}

// The cluster asks for the version that the fleet ran before: it has proved itself there.
bool Look::is_previous() const {
  if (has_driver_before() && view_.target.is_same_driver(next_.before)) return true;
  return next_.from.is_set() &&
         (view_.target.same_as(next_.from) ||
          (view_.target.is_same_driver(next_.from) && !next_.to.is_same_driver(next_.from)));
}

bool Look::is_held_as_rejected() const {
  return phase() == Phase::held && view_.status.reason == Reason::rejected_version;
}

// A tool sets again what was rolled back: nodes keep what they run until a user decides.
RolloutDecision Look::decide_rejected() {
  if (const RejectedDriver* rejected = rejection_of_target(view_, next_)) {
    return rest(rejection_reason(*rejected, next_, view_.name));
  }
  // Another version, or the change beside the version that had begun before.
  const bool has_begun = view_.target.same_as(next_.to);
  if (has_begun || !view_.target.is_same_driver(next_.stable)) return start();
  // Whatever got it meanwhile returns, wave by wave.
  next_.waves_to_return = std::max(next_.waves_to_return, next_.open_waves);
  next_.from = next_.stable;
  return enter(Phase::rolling_back,
               {Reason::reverted, fmt::format("{} is set again", view_.target.version), ""});
}

RolloutDecision Look::go_back(Reason reason, std::string by) {
  if (is_held_as_rejected()) {
    next_.from = next_.stable;
    next_.to = view_.target;
  }
  // Where a user has set the version before, nothing is to be restored. Nothing is rejected either,
  // unless a user asked for the rollback.
  const bool is_set_back = is_previous();
  if (is_set_back && has_driver_before() && !view_.target.same_as(next_.from)) {
    next_.from = next_.before;
  }
  std::string obstacle = is_set_back ? "" : obstacle_to_rollback(view_, next_);
  if (!obstacle.empty()) {
    return enter_held({Reason::rollback_unavailable,
                       fmt::format("{}. It cannot be rolled back: {}", reason.text, obstacle), ""},
                      std::move(by));
  }
  if (!is_set_back) reject(next_, next_.to, now_, reason.name);
  if (is_set_back && reason.name == Reason::rollback_asked) reject_as_asked();
  next_.closed = true;
  next_.revert_commit.clear();
  next_.restored = false;
  next_.open_for = next_.to;
  next_.waves_to_return = std::min(std::max(next_.open_waves, next_.waves_to_return), all_waves());
  return enter(Phase::rolling_back, std::move(reason), std::move(by));
}

// Whether the command or the change of the version is seen first makes no difference.
void Look::reject_as_asked() {
  const bool is_another = !next_.to.is_same_driver(next_.from);
  if (is_another && rejection_of(next_, next_.to) == nullptr) {
    reject(next_, next_.to, now_, Reason::rollback_asked);
  }
}

RolloutDecision Look::go_back_to_previous() {
  return go_back({Reason::version_rolled_back,
                  fmt::format("the previous version {} was set again", view_.target.version), ""});
}

RolloutDecision Look::take_back_in_git() {
  if (!next_.revert_commit.empty()) {
    return rest({Reason::awaiting_sync,
                 fmt::format("commit {} reverts {}: waits until it reaches the cluster",
                             next_.revert_commit, next_.to.version),
                 ""},
                minutes(1));
  }
  const GitOutcome* outcome = outcome_of_git(GitStep::take_back);
  if (outcome == nullptr) {
    Evidence evidence = evidence_of(view_.name, next_);
    evidence.reason = next_.message;
    return {GitCommit{GitStep::take_back, next_.to.version, std::move(evidence)},
            {Reason::reverting, fmt::format("{} is reverted in the matrix", next_.to.version), ""},
            {}};
  }
  // The reason for the rollback stays: it belongs in the commit.
  if (outcome->again) return hold({Reason::reverting, outcome->error, ""}, minutes(1));
  if (!outcome->error.empty()) {
    return enter_held(
        {Reason::revert_failed,
         fmt::format("reverting {} in the matrix failed: {}", next_.to.version, outcome->error),
         "revert it manually, or lockstep rollout retry"});
  }
  return note_revert(*outcome);
}

RolloutDecision Look::note_revert(const GitOutcome& outcome) {
  next_.revert_commit = outcome.commit;
  return enter(Phase::rolling_back,
               {Reason::reverted,
                fmt::format("commit {} reverts {}", outcome.commit, next_.to.version), ""});
}

RolloutDecision Look::restore_object() {
  using Kind = RestoreStep::Kind;
  RestoreStep step = next_restore_step(view_, next_);
  switch (step.kind) {
    case Kind::restored:
      next_.restored = true;
      return enter(Phase::rolling_back, std::move(step.reason));
    case Kind::unavailable:
    case Kind::rejected:
      return enter_held(std::move(step.reason));
    case Kind::wait:
      return rest(std::move(step.reason), minutes(1));
    case Kind::write:
      break;
  }
  // What it is about is recorded before it is gone.
  if (next_.to != view_.status.to) return rest(std::move(step.reason));
  return {Revert{next_.to, next_.from}, std::move(step.reason), minutes(1)};
}

RolloutDecision Look::decide_rolling_back() {
  // Noted even when the cluster was faster.
  const GitOutcome* outcome = outcome_of_git(GitStep::take_back);
  if (outcome != nullptr && !outcome->commit.empty() && next_.revert_commit.empty()) {
    return note_revert(*outcome);
  }
  bool is_rejected_still = view_.target.same_as(next_.to) && !next_.open_for.same_as(next_.from);
  // A user had set the version before, so that the other one was not rejected, and sets it again.
  if (is_rejected_still && rejection_of(next_, next_.to) == nullptr) return on_new_target();
  if (is_rejected_still) return view_.spec.matrix ? take_back_in_git() : restore_object();
  if (!is_previous()) return on_new_target();
  if (!view_.target.same_as(next_.open_for) || next_.closed) {
    next_.open_for = view_.target;
    next_.open_waves = std::min<int64_t>(1, next_.waves_to_return);
    next_.closed = false;
    return enter(
        Phase::rolling_back,
        {Reason::return_open, fmt::format("nodes roll back to {}", view_.target.version), ""});
  }
  // Nodes outside the opened waves roll back too: where they use up the failure budget, no other
  // node starts.
  if (progress_.failed_in_open > 0 || progress_.failed >= view_.max_failures) {
    return enter_held({Reason::rollback_failed,
                       fmt::format("{} failed during the rollback: {}", progress_.failed,
                                   upgrade_names(progress_.failed_names)),
                       "repair them, then lockstep rollout retry"});
  }
  // Waves that had not opened have no gates to repeat.
  if (next_.open_waves > 0 && wave().opened.is_set()) {
    if (auto waits = return_wave()) return std::move(*waits);
  }
  if (next_.open_waves < next_.waves_to_return) {
    ++next_.open_waves;
    return enter(Phase::rolling_back,
                 {Reason::return_open, fmt::format("wave {} rolls back", wave().name), ""});
  }
  if (progress_.to_upgrade > 0) return return_others();
  return returned();
}

// Nothing: all nodes of the wave run the previous version again, and its gates have passed.
std::optional<RolloutDecision> Look::return_wave() {
  const WaveProgress& progress = wave_progress();
  if (progress.pending > 0) {
    return rest_returning(fmt::format("wave {}: {} of {} nodes rolled back", wave().name,
                                      progress.done, progress.nodes));
  }
  GateSummary gates = summarize_gates(wave_spec(), view_.gates);
  if (!gates.missing.empty()) return start_gates(std::move(gates.missing), Reason::rolling_back);
  if (gates.outcome == Outcome::running) return rest({Reason::rolling_back, gates.text, ""});
  if (gates.outcome == Outcome::passed) return std::nullopt;
  return enter_held({Reason::rollback_failed, "during the rollback: " + gates.text, ""});
}

// Nodes got the version outside the waves: they joined, were replaced, or belong to an earlier
// version's waves.
RolloutDecision Look::return_others() {
  const int64_t all = all_waves();
  std::string text =
      fmt::format("{} outside the opened waves",
                  upgrade::counted(static_cast<size_t>(progress_.to_upgrade), "node"));
  if (next_.open_waves == all)
    return rest_returning(
        fmt::format("{}: not rolled back yet: {}", text, upgrade_names(progress_.returning)));
  next_.open_waves = all;
  next_.waves_to_return = all;
  return enter(
      Phase::rolling_back,
      {Reason::return_open, fmt::format("{} roll back to {}", text, view_.target.version), ""});
}

RolloutDecision Look::rest_returning(const std::string& text) {
  if (!view_.spec.paused) return rest({Reason::rolling_back, text, ""});
  return rest({Reason::rollout_paused, fmt::format("the rollback is paused; {}", text),
               fmt::format("lockstep rollout resume {}", view_.name)});
}

RolloutDecision Look::returned() {
  next_.stable = view_.target;
  if (next_.from.fields) next_.stable.fields = next_.from.fields;
  next_.waves_to_return = 0;
  next_.open_waves = 0;
  std::string text = fmt::format("all nodes run {} again", view_.target.version);
  if (progress_.left_out > 0) {
    text += fmt::format(", except {} that a user skips",
                        upgrade::counted(static_cast<size_t>(progress_.left_out), "node"));
  }
  return enter(Phase::rolled_back, {Reason::rolled_back, std::move(text), ""});
}

}  // namespace lockstep::rollout

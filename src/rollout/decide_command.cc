// What a user asks for by a command.
#include <fmt/format.h>

#include "rollout/command_rules.h"
#include "rollout/restoring.h"
#include "rollout/rollout_look.h"
#include "rollout/wave_evidence.h"

namespace lockstep::rollout {

namespace {

// What the next try comes to is neither known nor approved.
void reset_verdict(WaveStatus& wave) {
  wave.verdict = Outcome::running;
  wave.verdict_text.clear();
  wave.bake.clear();
  wave.detectable.clear();
  wave.approved_by.clear();
  wave.approved_at = {};
}

}  // namespace

// What a user asked for, if it has not been done yet.
std::optional<RolloutDecision> Look::obey() {
  if (!view_.command || view_.command->text == next_.last_command) return std::nullopt;
  const Command& command = *view_.command;
  // The same patch ended its pause.
  if (command.verb == "rollback" && phase() == Phase::rolling_back) {
    reject_as_asked();
    return note(command, Reason::rollback_asked,
                fmt::format("{} asked for the rollback that is in progress", command.by));
  }
  if (std::string why = refusal_of(command, view_.spec, next_); !why.empty()) {
    return ignore(command, why);
  }
  if (command.verb == "abort") {
    next_.last_command = command.text;
    return enter_held(
        {Reason::aborted,
         fmt::format("aborted by {}: the waves are closed, and nodes do not change", command.by),
         "lockstep rollout retry or rollback"},
        command.by);
  }
  if (command.verb == "rollback") return roll_back(command);
  if (command.verb == "retry") return retry(command);
  if (command.verb == "promote") return promote(command);
  return ignore(command, "spec.paused pauses and resumes a rollout");
}

RolloutDecision Look::ignore(const Command& command, std::string_view why) {
  return note(command, Reason::command_ignored, fmt::format("{}: {}", command.verb, why));
}

// Only the history records it.
RolloutDecision Look::note(const Command& command, fleet::KnownReason reason, std::string text) {
  next_.last_command = command.text;
  next_.history.push_back({now_, next_.phase, "", reason, std::move(text), command.by});
  return {StatusWrite{next_, false}, {next_.reason, next_.message, ""}, {}};
}

RolloutDecision Look::roll_back(const Command& command) {
  if (phase() == Phase::held && next_.waves_to_return > 0 && !is_held_as_rejected()) {
    return retry(command);
  }
  // What the fleet runs is left as it is; there is nothing to hold.
  if (std::string obstacle = obstacle_to_rollback(view_, next_);
      phase() == Phase::complete && !obstacle.empty()) {
    return ignore(command, obstacle);
  }
  // A third version that has not begun goes first.
  bool is_third = view_.target.is_set() && !view_.target.same_as(next_.to) && !is_previous();
  if (is_third && !view_.spec.matrix && obstacle_to_rollback(view_, next_).empty()) {
    if (view_.restore && view_.restore->is_done()) {
      return hold({Reason::reverting, "waits until the operator follows the driver's object", ""},
                  minutes(1));
    }
    if (view_.restore) {
      Reason refused{Reason::revert_refused,
                     fmt::format("setting the driver's object to {} failed and is retried: {}",
                                 next_.from.version, view_.restore->error),
                     "or set the version manually"};
      return rest(std::move(refused), minutes(1));
    }
    return {
        Revert{view_.target, next_.from},
        {Reason::reverting, fmt::format("the driver is set to {} again", next_.from.version), ""},
        minutes(1)};
  }
  next_.last_command = command.text;
  return go_back({Reason::rollback_asked, fmt::format("{} asked for a rollback", command.by), ""},
                 command.by);
}

RolloutDecision Look::retry(const Command& command) {
  if (is_held_as_rejected()) return allow_rejected(command);
  if (!progress_.failed_names.empty()) {
    return {
        RetryNodes{progress_.failed_names}, {Reason::retry, "failed nodes are retried", ""}, {}};
  }
  const bool has_begun = next_.waves.front().opened.is_set() || next_.waves_to_return > 0;
  if (!has_begun || is_short_of_nodes(view_.status.reason)) return choose_again(command);
  next_.last_command = command.text;
  bool backwards = next_.waves_to_return > 0;
  // During a rollback no node begins with the rejected version.
  next_.closed = backwards && !next_.open_for.same_as(next_.from);
  if (!backwards) reset_verdict(wave());
  wave().gates.clear();
  ++wave().gate_round;
  return enter(backwards ? Phase::rolling_back : Phase::upgrading,
               {Reason::retry, fmt::format("{} retried", command.by), ""}, command.by);
}

// The wave that is short of nodes is chosen again, as if it had not opened.
RolloutDecision Look::choose_again(const Command& command) {
  next_.last_command = command.text;
  if (has_lost_nodes()) {
    const std::string name = wave().name;
    wave() = {};
    wave().name = name;
  }
  return enter_held({Reason::wave_empty,
                     fmt::format("{} asked to choose the wave's nodes again", command.by), ""},
                    command.by);
}

// It begins as any version does, at the first wave.
RolloutDecision Look::allow_rejected(const Command& command) {
  next_.last_command = command.text;
  next_.open_waves = next_.waves_to_return = 0;
  if (const RejectedDriver* rejected = rejection_of_target(view_, next_)) {
    allow(next_, DriverRevision(rejected->driver));
  }
  return enter(Phase::pending,
               {Reason::retry,
                fmt::format("{} allows {} again, which had been rolled back", command.by,
                            view_.target.version),
                ""},
               command.by);
}

RolloutDecision Look::promote(const Command& command) {
  next_.last_command = command.text;
  next_.closed = false;
  wave().approved_by = command.by;
  wave().approved_at = now_;
  const bool overrides = wave().verdict != Outcome::passed;
  if (!overrides) {
    return enter(
        Phase::promoting,
        {Reason::approved, fmt::format("wave {} approved by {}", wave().name, command.by), ""},
        command.by);
  }
  if (phase() == Phase::baking) {
    wave().verdict_text =
        fmt::format("the bake was ended after {}; {}", format_duration(now_ - wave().bake_began),
                    wave().bake.empty() ? "nothing was observed" : wave().bake);
  }
  // An aborted wave has no verdict yet: what it was Held for is what the user overrides.
  if (wave().verdict_text.empty()) wave().verdict_text = view_.status.message;
  wave().verdict_text = fmt::format("override by {}: {}", command.by, wave().verdict_text);
  wave().verdict = Outcome::passed;
  return enter(Phase::promoting,
               {Reason::override,
                fmt::format("wave {} has passed by {}", wave().name, wave().verdict_text), ""},
               command.by);
}

}  // namespace lockstep::rollout

// A wave that does not pass: rolled back, or held for users, and what lets it continue.
#include <algorithm>

#include <fmt/format.h>

#include "rollout/rollout_look.h"
#include "rollout/wave_evidence.h"
#include "upgrade/pod_names.h"

namespace lockstep::rollout {

RolloutDecision Look::decide_held() {
  if (view_.status.reason == Reason::nodes_blocked) return decide_blocked();
  if (!is_short_of_nodes(view_.status.reason)) {
    return rest({next_.reason, next_.message, "lockstep rollout promote, retry or rollback"});
  }
  if (!has_lost_nodes()) {
    auto unopened = std::find_if(next_.waves.begin(), next_.waves.end(),
                                 [](const WaveStatus& each) { return !each.opened.is_set(); });
    if (unopened != next_.waves.end()) {
      return open(static_cast<size_t>(unopened - next_.waves.begin()));
    }
    // The wave that did not open is no longer in the spec.
    return enter(Phase::promoting, {Reason::wave_passed, "no other wave needs to open", ""});
  }
  if (wave_progress().pending == 0) {
    if (auto missing = missing_evidence(view_, current(), progress_)) return rest(*missing);
  }
  next_.closed = false;
  wave().verdict = Outcome::running;
  wave().verdict_text.clear();
  return enter(Phase::upgrading,
               {Reason::nodes_returned, fmt::format("wave {} has nodes again", wave().name), ""});
}

// In Held for want of nodes: the current wave opened and lost them, or the next one never had
// them.
bool Look::has_lost_nodes() const {
  return current() < next_.waves.size() && next_.waves[current()].opened.is_set() &&
         next_.waves[current()].verdict == Outcome::inconclusive;
}

RolloutDecision Look::fail_wave(Reason reason) {
  wave().verdict = Outcome::failed;
  wave().verdict_text = reason.text;
  if (view_.spec.on_failure == OnFailure::hold) return enter_held(std::move(reason));
  return go_back(std::move(reason));
}

RolloutDecision Look::hold_wave(Reason reason) {
  wave().verdict = Outcome::inconclusive;
  wave().verdict_text = reason.text;
  return enter_held(std::move(reason));
}

bool Look::has_too_many_failed() const {
  return phase() == Phase::upgrading && is_over_budget(progress_.failed_in_open);
}

// More nodes have failed than the wave tolerates. Nodes whose driver was not restarted are not
// evidence against the new one: they alone cause no rollback.
RolloutDecision Look::decide_failed() {
  const int64_t allowed = allowed_failures();
  const std::string limit = fmt::format(
      "and {} allowed",
      allowed == 0 ? "none is" : fmt::format("{} {}", allowed, allowed == 1 ? "is" : "are"));
  const std::vector<std::string>& failed = progress_.failed_with_driver;
  if (is_over_budget(static_cast<int64_t>(failed.size()))) {
    return fail_wave(
        {Reason::nodes_failed,
         fmt::format("{} failed ({}), {}", failed.size(), upgrade_names(failed), limit), ""});
  }
  const std::string remedy = fmt::format(
      "remove what blocks the upgrade, then: lockstep rollout retry {} (or lockstep retry NODE)",
      view_.name);
  // Long texts are cut: what to do comes before what each node says.
  std::string text = fmt::format(
      "{} failed, {}. The driver of {} was not restarted, which says nothing about {}; "
      "{}. {}{}",
      upgrade::counted(static_cast<size_t>(progress_.failed_in_open), "node"), limit,
      upgrade_names(progress_.blocked_names), next_.to.version, remedy,
      failed.empty() ? "" : fmt::format("Failed with it: {}. ", upgrade_names(failed)),
      upgrade_names(progress_.blocked));
  Reason reason{Reason::nodes_blocked, std::move(text), remedy};
  if (phase() != Phase::held) return hold_wave(std::move(reason));
  wave().verdict_text = reason.text;
  return rest(std::move(reason));
}

// Nodes in flight may still fail with the new driver, and users may retry the blocked ones.
RolloutDecision Look::decide_blocked() {
  if (is_over_budget(progress_.failed_in_open)) return decide_failed();
  next_.closed = false;
  wave().verdict = Outcome::running;
  wave().verdict_text.clear();
  return enter(Phase::upgrading,
               {Reason::nodes_returned,
                fmt::format("wave {}: nodes that were blocked are retried", wave().name), ""});
}

}  // namespace lockstep::rollout

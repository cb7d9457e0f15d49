#include "upgrade/decide.h"

#include <fmt/format.h>

#include "upgrade/deciding.h"

namespace lockstep::upgrade {

namespace {

// From the cordon to the validation the node must stay out of service, whatever a user does.
bool must_be_cordoned(State state) {
  return fleet::is_active(state) && state != State::cordon && state != State::uncordon;
}

Decision cordon_again(const Situation& situation) {
  Decision decision = hold({Reason::cordoned_again,
                            fmt::format("a user uncordoned the node in {}; the controller cordoned "
                                        "it again until the upgrade ends",
                                        to_string(situation.state())),
                            fmt::format("to stop upgrades instead, skip the node before its "
                                        "upgrade starts, or set autoUpgrade to false")});
  take_out_of_service(decision, situation);
  decision.events = {{true, decision.reason.text}};
  return decision;
}

// In later states the node is out of service, and goes through the validation.
bool must_be_contained(const Situation& situation) {
  State state = situation.state();
  bool is_idle = state == State::unknown || state == State::done;
  if (!is_idle && !fleet::is_before_restart(state)) return false;
  if (!is_outside_wave(situation.view)) return false;
  const Node& node = situation.node();
  bool is_contained = state == State::required && node.unschedulable && fleet::is_unvalidated(node);
  return !is_contained;
}

// It was written by a clock that was wrong, or ours is now: no timer would ever end.
bool began_in_future(const Situation& situation) {
  return fleet::state_since(situation.node()) > situation.now + minutes(10);
}

// Timers count from here if a user set the label without a time. The same applies if NVIDIA's
// controller set it: we take the node over from it, its cordon included.
Decision note_time(const Situation& situation) {
  Decision decision =
      hold({Reason::time_noted,
            fmt::format("{} has no start time, or one in the future; its timers start now",
                        to_string(situation.state())),
            ""});
  annotate(decision, situation, std::string(fleet::since_annotation),
           format_rfc3339(situation.now));
  if (!fleet::is_active(situation.state())) return decision;
  if (situation.node().unschedulable) take_out_of_service(decision, situation);
  if (situation.state() == State::pod_restart || situation.state() == State::validation) {
    annotate(decision, situation, std::string(fleet::unvalidated_annotation), "true");
  }
  return decision;
}

// While nothing of the upgrade holds the node, its owner may put it into service. Should they
// cordon it later, it must not be taken for our cordon.
bool is_lifted(const Situation& situation) {
  const Node& node = situation.node();
  return !fleet::is_active(situation.state()) && !node.unschedulable &&
         node.meta.annotations.get(fleet::cordon_annotation) == fleet::our_cordon;
}

Decision note_uncordoned(const Situation& situation) {
  Decision decision = hold({Reason::uncordoned_by_user, "a user uncordoned the node", ""});
  annotate(decision, situation, std::string(fleet::cordon_annotation),
           situation.state() == State::done ? std::nullopt
                                            : std::optional<std::string>(fleet::lifted_cordon));
  return decision;
}

Decision take_back(const Situation& situation) {
  Reason reason{
      Reason::no_longer_needed,
      fmt::format("the driver pod has the newest revision ({}) again; no more pods are moved",
                  situation.view.driver.newest_revision.view()),
      ""};
  if (auto not_yet = before_step_back(situation, reason)) return *not_yet;
  Decision decision = leave_upgrade(situation, std::move(reason));
  if (situation.is_suspicious_change()) decision.freshness = Freshness::revisions;
  return decision;
}

// Others restarted the driver in the middle: a client may have the old one open.
Decision validate_replaced(const Situation& situation) {
  Decision decision = enter(situation, State::validation, driver_replaced(situation.view));
  take_out_of_service(decision, situation);
  decision.freshness = Freshness::revisions;
  return decision;
}

bool moves_pods(State state) {
  return state == State::wait_for_jobs || state == State::pod_deletion || state == State::drain;
}

// The version was set back to the one that is loaded, beside a change that does not touch it.
Decision go_on_without_moving(const Situation& situation) {
  State next = situation.state() == State::wait_for_jobs ? State::pod_deletion : State::pod_restart;
  Decision decision =
      enter(situation, next,
            {Reason::restart_only,
             "the rest of the change does not affect the driver: no pods are moved", ""});
  decision.freshness = Freshness::driver;
  return decision;
}

}  // namespace

Decision decide(const fleet::NodeView& view, const PoolView& pool, const Rules& rules, Time now) {
  Situation situation{view, pool, rules, now};
  if (pool.frozen) return hold(*pool.frozen);
  if (!pool.policy->auto_upgrade) return hold(auto_upgrade_off(*pool.policy));
  if (const auto& delay = view.known.delay) return hold(*delay);
  State state = situation.state();
  bool has_timers = fleet::is_active(state) || state == State::required;
  if (has_timers && began_in_future(situation)) return note_time(situation);
  if (must_be_contained(situation)) return contain(situation);
  if (fleet::is_before_restart(state) && is_no_longer_needed(view, rules)) {
    return take_back(situation);
  }
  // One that waits needs a slot for it (decide_required).
  if (fleet::is_before_restart(state) && state != State::required &&
      is_replaced_by_others(view, rules)) {
    return validate_replaced(situation);
  }
  if (must_be_cordoned(state) && !view.node->unschedulable) return cordon_again(situation);
  if (fleet::is_active(state) && !fleet::state_since(*view.node).is_set()) {
    return note_time(situation);
  }
  if (is_lifted(situation)) return note_uncordoned(situation);
  if (moves_pods(state) && view.driver.is_out_of_sync() && is_restart_only(view, rules)) {
    return go_on_without_moving(situation);
  }
  switch (state) {
    case State::unknown:
    case State::done:
      return decide_idle(situation);
    case State::required:
      return decide_required(situation);
    case State::cordon:
      return decide_cordon(situation);
    case State::wait_for_jobs:
      return decide_wait_for_jobs(situation);
    case State::pod_deletion:
      return decide_pod_deletion(situation);
    case State::drain:
      return decide_drain(situation);
    case State::pod_restart:
      return decide_pod_restart(situation);
    case State::validation:
      return decide_validation(situation);
    case State::uncordon:
      return decide_uncordon(situation);
    case State::failed:
      return decide_failed(situation);
  }
  return {};
}

}  // namespace lockstep::upgrade

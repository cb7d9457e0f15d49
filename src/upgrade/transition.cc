#include "upgrade/transition.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"

namespace lockstep::upgrade {

namespace {

constexpr Duration suspicious = minutes(10);

NodePatch& patch_of(Decision& decision, const Situation& situation) {
  if (auto* patch = std::get_if<NodePatch>(&decision.write)) return *patch;
  NodePatch patch;
  patch.resource_version = situation.node().meta.resource_version.str();
  decision.write = std::move(patch);
  return std::get<NodePatch>(decision.write);
}

}  // namespace

Duration Situation::in_state() const {
  Time since = fleet::state_since(node());
  return since.is_set() ? std::max(now - since, Duration::zero()) : Duration::zero();
}

bool Situation::is_suspicious_change() const { return in_state() < suspicious || view.known.blind; }

Duration Situation::seen_of(Duration passed) const {
  if (!view.known.seen_since.is_set()) return passed;
  return std::min(passed, std::max(now - view.known.seen_since, Duration::zero()));
}

Duration Situation::left_of(Duration limit) const {
  return std::max(limit - seen_of(in_state()), Duration::zero());
}

Duration Situation::since_timer(const std::string& key) const {
  auto began = parse_integer(node().meta.annotations.get(key));
  if (!began || *began <= 0 || *began > now.unix_seconds()) return in_state();
  return now - Time::from_unix(*began);
}

Duration Situation::without_gained(Duration passed) const {
  const Duration gained = std::max(view.known.clock_gained, Duration::zero());
  return std::max(passed - gained, Duration::zero());
}

Duration Situation::really_since_timer(const std::string& key) const {
  return without_gained(since_timer(key));
}

void annotate(Decision& decision, const Situation& situation, const std::string& key,
              std::optional<std::string> value) {
  const Text* held = situation.node().meta.annotations.find(key);
  if (!value && held == nullptr) return;
  if (value && held != nullptr && *held == *value) return;
  patch_of(decision, situation).annotations.emplace_back(key, std::move(value));
}

void set_unschedulable(Decision& decision, const Situation& situation, bool unschedulable) {
  if (situation.node().unschedulable == unschedulable) return;
  patch_of(decision, situation).unschedulable = unschedulable;
}

void take_out_of_service(Decision& decision, const Situation& situation) {
  const fleet::Keys& keys = situation.rules.keys;
  bool others = fleet::was_cordoned_by_others(situation.node(), keys);
  auto note = [](bool there, std::string_view text) {
    return there ? std::optional<std::string>(text) : std::nullopt;
  };
  set_unschedulable(decision, situation, true);
  annotate(decision, situation, keys.initially_unschedulable, note(others, "true"));
  annotate(decision, situation, std::string(fleet::cordon_annotation),
           note(!others, fleet::our_cordon));
}

void note_beginning(Decision& decision, const Situation& situation) {
  const std::string key(fleet::began_with_annotation);
  const auto& pod = situation.view.driver.pod;
  if (pod == nullptr || situation.node().meta.annotations.contains(key)) return;
  annotate(decision, situation, key, pod->meta.uid.str());
}

Decision enter(const Situation& situation, State to, Reason reason) {
  const fleet::Keys& keys = situation.rules.keys;
  Decision decision;
  decision.reason = std::move(reason);
  NodePatch& patch = patch_of(decision, situation);
  patch.to = to;
  patch.labels.emplace_back(keys.state, std::string(to_string(to)));
  annotate(decision, situation, std::string(fleet::since_annotation),
           format_rfc3339(situation.now));
  annotate(decision, situation, std::string(fleet::slot_returned_annotation), {});
  std::string unix_now = std::to_string(situation.now.unix_seconds());
  auto timer = [&](const std::string& key, State of) {
    annotate(decision, situation, key,
             to == of ? std::optional<std::string>(unix_now) : std::nullopt);
  };
  if (to != State::required) {
    annotate(decision, situation, std::string(fleet::awaits_rollout_annotation), {});
  }
  timer(keys.wait_start, State::wait_for_jobs);
  timer(keys.validation_start, State::validation);
  // From the restart on the driver is another, until it has been validated.
  if (to == State::pod_restart || to == State::validation) {
    annotate(decision, situation, std::string(fleet::unvalidated_annotation), "true");
  }
  if (to == State::uncordon || to == State::done) {
    annotate(decision, situation, std::string(fleet::unvalidated_annotation), {});
  }
  if (to == State::uncordon || (to == State::done && situation.state() != State::uncordon)) {
    const auto& pod = situation.view.driver.pod;
    annotate(decision, situation, std::string(fleet::driver_pod_annotation),
             pod == nullptr ? std::nullopt : std::optional(pod->meta.uid.str()));
  }
  if (to == State::required) note_beginning(decision, situation);
  if (to == State::done) {
    annotate(decision, situation, keys.requested, {});
    annotate(decision, situation, std::string(fleet::requested_with_annotation), {});
    annotate(decision, situation, std::string(fleet::cordon_annotation), {});
    annotate(decision, situation, std::string(fleet::began_with_annotation), {});
    annotate(decision, situation, keys.initially_unschedulable, {});
    annotate(decision, situation, std::string(fleet::failed_revision_annotation), {});
  }
  if (to == State::done || to == State::failed) {
    annotate(decision, situation, std::string(fleet::retried_with_annotation), {});
  }
  annotate(decision, situation, std::string(fleet::waiting_since_annotation), {});
  // While it waits for another try, its annotation says that it is one.
  if (to != State::failed && to != State::required) {
    annotate(decision, situation, std::string(fleet::failure_annotation), {});
  }
  decision.events.push_back(
      {false, fmt::format("Successfully updated node state label to {}", to_string(to))});
  return decision;
}

std::optional<Decision> before_step_back(const Situation& situation, const Reason& reason) {
  constexpr Duration moment = seconds(2);
  if (!fleet::state_since(situation.node()).is_set() || situation.in_state() >= moment) return {};
  return hold(reason, moment - situation.in_state());
}

Decision fail_node(const Situation& situation, Reason reason) {
  std::string failure = reason.line();
  Decision decision = enter(situation, State::failed, std::move(reason));
  annotate(decision, situation, std::string(fleet::failure_annotation), failure);
  const Text& revision = situation.view.driver.newest_revision;
  annotate(decision, situation, std::string(fleet::failed_revision_annotation),
           revision.empty() ? std::nullopt : std::optional(revision.str()));
  decision.events = {{true, fmt::format("Driver upgrade failed in {}: {}",
                                        fleet::display_name(situation.state()), failure)}};
  // Another replica, which knows of a newer revision, would retry at once, as often as we fail.
  decision.freshness = Freshness::revisions;
  return decision;
}

Decision return_slot(const Situation& situation, Reason reason) {
  // In the second in which one was returned before, nothing would be written.
  Decision decision = hold(std::move(reason), seconds(1));
  annotate(decision, situation, std::string(fleet::slot_returned_annotation),
           format_rfc3339(situation.now));
  return decision;
}

Decision leave_upgrade(const Situation& situation, Reason reason) {
  const Node& node = situation.node();
  bool stays_cordoned = fleet::was_cordoned_by_others(node, situation.rules.keys);
  // The upgrade never began: there is nothing to uncordon, and a thousand nodes whose change was
  // reverted must not all become active at once.
  bool never_began = situation.state() == State::required && !node.unschedulable;
  Decision decision = enter(
      situation, stays_cordoned || never_began ? State::done : State::uncordon, std::move(reason));
  if (stays_cordoned) set_unschedulable(decision, situation, true);
  return decision;
}

}  // namespace lockstep::upgrade

#include "sim/oracle/invariant_steps.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "rollout/rollout_view.h"

namespace lockstep::sim {

namespace {

using fleet::State;

// Of these a node may recover by itself.
constexpr std::array passing_failures = {
    fleet::Reason::driver_crash_loop, fleet::Reason::driver_image_unavailable,
    fleet::Reason::driver_container_broken, fleet::Reason::driver_start_timeout};

}  // namespace

bool is_allowed_transition(State from, State to) {
  // Before the driver is restarted, a reverted change ends the upgrade.
  bool ends = to == State::uncordon || to == State::done;
  // Others replaced the driver pod: nothing more is moved, and the node is validated.
  if (fleet::is_before_restart(from) && to == State::validation) return true;
  switch (from) {
    case State::unknown:
      return to == State::required || to == State::done;
    case State::done:
      return to == State::required;
    case State::required:
      return to == State::cordon || to == State::pod_restart || ends;
    case State::cordon:
      return to == State::wait_for_jobs || ends;
    case State::wait_for_jobs:
      return to == State::pod_deletion || ends;
    case State::pod_deletion:
      return to == State::pod_restart || to == State::drain || to == State::failed || ends;
    case State::drain:
      return to == State::pod_restart || to == State::failed || ends;
    case State::pod_restart:
      // GPU pods came to the node after all: they are waited for and moved first.
      return to == State::validation || to == State::failed || to == State::wait_for_jobs;
    case State::validation:
      return to == State::pod_restart || to == State::failed || ends;
    case State::uncordon:
      return to == State::done;
    case State::failed:
      return to == State::required || to == State::validation;
  }
  return false;
}

void NoSkippedState::on_node(const NodeStep& step) {
  if (!step.ours || !step.changes_state()) return;
  if (is_allowed_transition(step.from(), step.to())) return;
  // Its driver is one that no open wave allows: it waits, out of service, for its wave.
  bool is_contained = step.to() == State::required && step.after->unschedulable &&
                      has_annotation(*step.after->object, fleet::unvalidated_annotation);
  if (is_contained && (fleet::is_before_restart(step.from()) || step.from() == State::validation)) {
    return;
  }
  accuse(fmt::format("{} went from {} to {}, which is no step of the upgrade", step.name,
                     fleet::display_name(step.from()), fleet::display_name(step.to())));
}

void WholeSteps::on_node(const NodeStep& step) {
  if (!step.ours || step.before == nullptr || step.after == nullptr) return;
  // NVIDIA's controller keeps no times.
  if (truth().coordinates) return;
  const Json& after = *step.after->object;
  std::string_view entry = annotation_of(after, fleet::since_annotation);
  bool kept = entry == annotation_of(*step.before->object, fleet::since_annotation);
  Time now = truth().cluster().loop.now();
  auto last = last_.find(step.name);
  bool is_soon = last != last_.end() && now - last->second <= truth().blindness;
  // A clock that was set back may show the very second of the last step again.
  is_soon = is_soon || (last != last_.end() && last->second <= truth().clock_set);
  // Also where an impossible time was corrected, without a step.
  if (!kept || step.changes_state()) last_[step.name] = now;
  if (!step.changes_state()) return;
  auto missing = [&](std::string_view what) {
    accuse(fmt::format("{} went from {} to {} without {} in the same patch", step.name,
                       fleet::display_name(step.from()), fleet::display_name(step.to()), what));
  };
  // Two steps of one second have the same time, also when the second was long on its way. The time
  // itself is not compared: the controller's clock may be another.
  if (!parse_rfc3339(entry) || (kept && !is_soon)) {
    missing("its time of entry");
  }
  State to = step.to();
  if ((to == State::wait_for_jobs) != has_annotation(after, keys().wait_start)) {
    missing(to == State::wait_for_jobs ? "the timer of the wait" : "ending the timer of the wait");
  }
  if ((to == State::validation) != has_annotation(after, keys().validation_start)) {
    missing(to == State::validation ? "the timer of the validation"
                                    : "ending the timer of the validation");
  }
  if (to == State::failed && annotation_of(after, fleet::failure_annotation).empty()) {
    missing("the reason of the failure");
  }
  bool held = fleet::is_active(to) && to != State::cordon && to != State::uncordon;
  if (held && !step.after->unschedulable) missing("the cordon");
  if (to == State::done && step.after->cordon == Cordon::ours) missing("the uncordon");
}

namespace {

// A user told a rollout to retry what failed.
bool is_retry_asked(const Truth& truth) {
  const auto& rollouts = truth.cluster().backend.store.shelf(fleet::driver_rollouts.full_name());
  for (const auto& [key, object] : rollouts.objects()) {
    auto read = rollout::Command::of(object->json());
    if (read && read->verb == "retry") return true;
  }
  return false;
}

}  // namespace

bool OneUpgradePerCause::has_cause(const NodeStep& step) const {
  const Json& node = *step.after->object;
  if (annotation_of(node, keys().requested) == "true") return true;
  if (!annotation_of(node, keys().safe_load).empty()) return true;
  if (broken_off_.contains(step.name)) return true;
  // Its upgrade has not ended, and its driver pod is another since.
  std::string_view began_with = annotation_of(*step.before->object, fleet::began_with_annotation);
  if (const PodTruth* pod = truth().driver_pod(step.name); pod != nullptr && !began_with.empty()) {
    if (text_at(*pod->object, "metadata", "uid") != began_with) return true;
  }
  // It is taken out of service for its driver (NoUnapprovedDriver says whether rightly).
  if (step.after->contained && !step.before->contained) return true;
  // Its driver was restarted and has not been validated since.
  if (has_annotation(*step.before->object, fleet::unvalidated_annotation)) return true;
  // We took it out of service and have not returned it yet.
  if (step.before->unschedulable &&
      annotation_of(*step.before->object, fleet::cordon_annotation) == fleet::our_cordon) {
    return true;
  }
  const PodTruth* pod = truth().driver_pod(step.name);
  // Without a pod, or just after a change, the controller may know of another one.
  if (pod == nullptr || truth().may_be_unknown(pod->bound)) return true;
  const DriverTruth* driver = truth().driver_of(*pod->object);
  if (driver == nullptr || truth().may_be_unknown(driver->changed)) return true;
  if (step.from() == State::failed) {
    if (is_retry_asked(truth())) return true;
    return annotation_of(*step.before->object, fleet::failed_revision_annotation) != driver->newest;
  }
  return label_of(*pod->object, fleet::revision_label) != driver->newest;
}

// Others took the label of an upgrade away, or set it to where no upgrade is: it has to go on.
void OneUpgradePerCause::note_broken_off(const NodeStep& step) {
  bool under_way = fleet::is_active(step.from()) || step.from() == State::failed;
  bool stopped = !fleet::is_active(step.to()) && step.to() != State::failed;
  if (step.after == nullptr || (step.ours && step.to() == State::done)) {
    broken_off_.erase(step.name);
  } else if (!step.ours && under_way && stopped) {
    broken_off_.insert(step.name);
  }
}

void OneUpgradePerCause::on_node(const NodeStep& step) {
  note_broken_off(step);
  if (!step.ours || !step.changes_state() || step.before == nullptr) return;
  if (step.to() == State::required && !has_cause(step)) {
    accuse(
        fmt::format("{} went from {} to {} for nothing: its driver pod is of the newest "
                    "revision, or failed with it, and no user requested more",
                    step.name, fleet::display_name(step.from()), fleet::display_name(step.to())));
  }
  if (step.from() == State::failed && step.to() == State::validation) {
    const auto failure = failure_of(*step.before->object);
    if (failure && std::find(passing_failures.begin(), passing_failures.end(), failure->name) ==
                       passing_failures.end()) {
      accuse(fmt::format("{} came back from the failure {}, which does not pass by itself",
                         step.name, failure->name.view()));
    }
  }
}

void NoRepeatedState::on_change(const std::string& storage, const apiserver::Change&, bool ours) {
  // Decisions about a node read these besides the node, its pods and its driver.
  static const std::set<std::string> looked_at = {
      cluster_policies.full_name(),          nvidia_drivers.full_name(),
      fleet::driver_rollouts.full_name(),    resource::controller_revisions.full_name(),
      resource::resource_slices.full_name(), resource::resource_claims.full_name()};
  if (!ours && looked_at.contains(storage)) news_of_all_ = truth().uptime();
}

// A pod that came is news also when it is gone again.
void NoRepeatedState::on_pod(const std::string& node) {
  if (node.empty()) return;
  for (const auto& [key, pod] : truth().pods_on(node)) {
    auto [news, is_first] = news_.try_emplace(node, pod.bound);
    news->second = std::max(news->second, pod.bound);
  }
}

void NoRepeatedState::on_pod_end(const PodEnd& end) {
  if (!end.ours) news_[end.node] = truth().uptime();
}

Duration NoRepeatedState::last_news(const std::string& node) const {
  Duration last = news_of_all_;
  if (auto at = news_.find(node); at != news_.end()) last = std::max(last, at->second);
  for (const auto& [key, pod] : truth().pods_on(node)) last = std::max(last, pod.changed);
  const PodTruth* pod = truth().driver_pod(node);
  const DriverTruth* driver = pod == nullptr ? nullptr : truth().driver_of(*pod->object);
  return driver == nullptr ? truth().uptime() : std::max(last, driver->changed);
}

void NoRepeatedState::on_node(const NodeStep& step) {
  Duration now = truth().uptime();
  if (!step.ours || step.after == nullptr) {
    news_[step.name] = now;
    return;
  }
  if (!step.changes_state()) return;
  auto [entry, is_first] = entered_[step.name].try_emplace(step.to());
  const Entry before = std::exchange(entry->second, {now, truth().known_until()});
  if (is_first || last_news(step.name) >= before.known_until) return;
  accuse(fmt::format("{} entered {} again after {}, and nothing about it had changed since",
                     step.name, fleet::display_name(step.to()), format_duration(now - before.at)));
}

void OnDeleteOnly::on_node(const NodeStep& step) {
  if (!step.ours || !step.changes_state() || step.from() != State::required) return;
  if (!fleet::is_active(step.to()) || step.to() == State::uncordon) return;
  const PodTruth* pod = truth().driver_pod(step.name);
  const DriverTruth* driver = pod == nullptr ? nullptr : truth().driver_of(*pod->object);
  if (driver == nullptr || !driver->is_rolled) return;
  if (truth().may_be_unknown(driver->rolled_changed)) return;
  accuse(fmt::format("{} was begun, and Kubernetes restarts its driver pod by itself", step.name));
}

void OneRestartPerCause::on_node(const NodeStep& step) {
  auto asks = [&](const NodeTruth* node) {
    return node != nullptr && annotation_of(*node->object, keys().requested) == "true";
  };
  if (!asks(step.after)) {
    auto asked = asked_.find(step.name);
    if (asked == asked_.end()) return;
    const PodTruth* pod = truth().driver_pod(step.name);
    bool is_same = pod != nullptr && text_at(*pod->object, "metadata", "uid") == asked->second.pod;
    asked_.erase(asked);
    if (step.after == nullptr || !step.ours || !is_same || step.to() != State::done) return;
    return accuse(
        fmt::format("the driver of {} was to be restarted on request, and was not", step.name));
  }
  // Later it has been restarted already, or is about to be.
  bool is_early = !fleet::is_active(step.to()) && step.to() != State::failed;
  if (step.ours || asks(step.before) || !is_early) return;
  const PodTruth* pod = truth().driver_pod(step.name);
  if (pod == nullptr || is_terminating(*pod->object)) return;
  asked_[step.name] = {std::string(text_at(*pod->object, "metadata", "uid"))};
}

void OneRestartPerCause::on_pod_end(const PodEnd& end) {
  if (!end.ours || !is_driver_pod(end.pod)) return;
  const DriverTruth* driver = truth().driver_of(end.pod);
  const NodeTruth* node = truth().node(end.node);
  if (driver == nullptr || node == nullptr || truth().may_be_unknown(driver->changed)) return;
  if (label_of(end.pod, fleet::revision_label) != driver->newest) return;
  const Json& object = *node->object;
  bool again = has_annotation(object, fleet::failed_revision_annotation) ||
               has_annotation(object, fleet::failure_annotation) ||
               annotation_of(object, keys().requested) == "true" ||
               truth().may_be_unknown(node->meddled);
  if (again && !is_ready_pod(end.pod)) return;
  // On request one is restarted that was there when its upgrade began, however healthy it is.
  const std::string_view uid = text_at(end.pod, "metadata", "uid");
  bool is_asked = annotation_of(object, keys().requested) == "true" &&
                  (annotation_of(object, fleet::began_with_annotation) == uid ||
                   annotation_of(object, fleet::requested_with_annotation) == uid);
  if (is_asked) return;
  accuse(fmt::format(
      "the driver pod {} of {} was restarted although it is of the newest revision "
      "({}) and {}",
      end.key.text(), end.node, driver->newest, again ? "ready" : "nothing has failed"));
}

}  // namespace lockstep::sim

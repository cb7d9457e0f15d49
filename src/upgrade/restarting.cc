// The driver pod's restart: delete it once, then wait for its successor; and what becomes of a node
// whose upgrade failed (sections 2, 6, 7).
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "upgrade/deciding.h"
#include "upgrade/evicting.h"
#include "upgrade/pod_names.h"
#include "upgrade/slots.h"

namespace lockstep::upgrade {

namespace {

constexpr Duration youth_of_orphans = seconds(30);

constexpr std::array<std::string_view, 5> hopeless_waits = {
    "ImagePullBackOff", "ErrImagePull", "InvalidImageName", "CreateContainerConfigError",
    "CreateContainerError"};

// Of these a driver pod can recover by itself.
constexpr std::array restart_failures = {
    Reason::driver_crash_loop, Reason::driver_image_unavailable, Reason::driver_container_broken,
    Reason::driver_start_timeout};

bool is_hopeless(const ContainerStatus& status) {
  return std::find(hopeless_waits.begin(), hopeless_waits.end(), status.waiting_reason.view()) !=
         hopeless_waits.end();
}

template <typename Predicate>
const ContainerStatus* find_status(const Pod& pod, Predicate predicate) {
  for (const auto* statuses : {&pod.init_container_statuses, &pod.container_statuses}) {
    auto at = std::find_if(statuses->begin(), statuses->end(), predicate);
    if (at != statuses->end()) return &*at;
  }
  return nullptr;
}

// A finished init container is not ready either, and that is normal.
bool is_in_trouble(const ContainerStatus& status) {
  return !status.ready && !(status.terminated && status.exit_code == 0);
}

std::optional<Reason> find_crash_loop(const Situation& situation, const Pod& pod) {
  const Deadlines& deadlines = situation.policy().deadlines;
  const auto* status = find_status(pod, [&](const ContainerStatus& container) {
    return is_in_trouble(container) && container.restarts > deadlines.restarts;
  });
  if (status == nullptr) return std::nullopt;
  return Reason{
      Reason::driver_crash_loop,
      fmt::format("container {} of {} has restarted {} times (limit {}) and is not ready"
                  "{}{}",
                  status->name.view(), name_pod(pod), status->restarts, deadlines.restarts,
                  status->terminated_reason.empty() ? "" : ": ", status->terminated_reason.view()),
      fmt::format("kubectl logs -n {} {} -c {} --previous", pod.meta.ns.view(),
                  pod.meta.name.view(), status->name.view())};
}

// The value on the node, beside the time when this wait was first seen.
std::string wait_of(const Pod& pod, const ContainerStatus& status) {
  return fmt::format("{}/{}", pod.meta.uid.view(), status.name.view());
}

// How long any replica has seen this wait. Nothing: it is new, or a wrong clock wrote the
// time.
std::optional<Duration> waited(const Situation& situation, const Pod& pod,
                               const ContainerStatus& status) {
  std::string_view note = situation.node().meta.annotations.get(fleet::waiting_since_annotation);
  size_t space = note.find(' ');
  if (space == std::string_view::npos || note.substr(space + 1) != wait_of(pod, status)) return {};
  auto since = parse_rfc3339(note.substr(0, space));
  if (!since || *since > situation.now) return std::nullopt;
  return situation.without_gained(situation.now - *since);
}

std::string describe_wait(const Pod& pod, const ContainerStatus& status) {
  return fmt::format("container {} of {} is waiting: {}{}{}", status.name.view(), name_pod(pod),
                     status.waiting_reason.view(), status.waiting_message.empty() ? "" : ": ",
                     status.waiting_message.view());
}

Reason waits_in_vain(const Pod& pod, const ContainerStatus& status, Duration for_so_long) {
  bool image = status.waiting_reason.view().find("Image") != std::string_view::npos;
  return {image ? Reason::driver_image_unavailable : Reason::driver_container_broken,
          fmt::format("{}, for {}", describe_wait(pod, status), human_duration(for_so_long)),
          image ? "check that the driver image exists for this version and this operating system"
                : fmt::format("kubectl describe pod -n {} {}", pod.meta.ns.view(),
                              pod.meta.name.view())};
}

std::optional<Reason> find_timeout(const Situation& situation, std::string_view what) {
  const Deadlines& deadlines = situation.policy().deadlines;
  if (situation.left_of(deadlines.restart) > Duration::zero()) return std::nullopt;
  return Reason{Reason::driver_start_timeout,
                fmt::format("{} after {}", what, format_duration(deadlines.restart)),
                "read the driver pod's events and logs"};
}

bool is_from_before(const Situation& situation, const Pod& pod) {
  const StringMap& annotations = situation.node().meta.annotations;
  for (std::string_view key : {fleet::retried_with_annotation, fleet::began_with_annotation}) {
    if (const Text* uid = annotations.find(key)) return *uid == pod.meta.uid;
  }
  // Another controller began it, or no pod was seen then: only the times are left.
  return pod.meta.created < fleet::state_since(situation.node());
}

// In sync and yet to be replaced: a retry of what failed. One that came up after the upgrade began
// is the retry itself.
bool is_broken_from_before(const Situation& situation, const Pod& pod) {
  if (fleet::is_running_and_ready(pod) || pod.meta.is_deleting()) return false;
  if (!is_from_before(situation, pod)) return false;
  bool has_failed =
      pod.phase == PodPhase::failed || find_status(pod, [](const ContainerStatus& status) {
                                         return is_hopeless(status) || status.restarts > 0 ||
                                                status.waiting_reason == "CrashLoopBackOff";
                                       }) != nullptr;
  return has_failed || situation.now - pod.meta.created >= situation.policy().deadlines.restart;
}

bool knows_what_it_began_with(const Node& node) {
  return node.meta.annotations.find(fleet::began_with_annotation) != nullptr;
}

// By a clock that is ahead of the API's, every pod that comes is from before: that question is
// asked once.
Decision remember_beginning(const Situation& situation, Reason reason) {
  Decision decision = hold(std::move(reason));
  annotate(decision, situation, std::string(fleet::began_with_annotation),
           situation.view.driver.pod->meta.uid.str());
  decision.freshness = Freshness::driver;
  return decision;
}

Decision delete_driver_pod(const Situation& situation, Reason reason) {
  PodRemovals removals;
  // They would only come back at once: so not before, but together with the driver.
  if (!is_restart_only(situation.view, situation.rules)) {
    for (const auto& pod :
         daemon_pods_to_restart(situation.view, situation.policy().pod_deletion)) {
      removals.push_back({pod, Removal::remove});
    }
  }
  removals.push_back({situation.view.driver.pod, Removal::remove});
  Decision decision = hold(std::move(reason));
  decision.write = std::move(removals);
  decision.freshness = Freshness::driver;
  return decision;
}

// A DaemonSet that was deleted and created again: its controller may not know the new one yet, and
// would recreate a pod of the old one after each deletion. Kubernetes collects such pods by itself.
std::optional<Duration> left_of_youth(const Situation& situation, const Pod& pod) {
  const Duration age = situation.now - pod.meta.created;
  if (age < Duration::zero() || age >= youth_of_orphans) return std::nullopt;
  return youth_of_orphans - age;
}

// GPU pods are on the node, and its driver must not be loaded under them.
Decision send_back_to_evictions(const Situation& situation) {
  // From the wait on: jobs among them have not been waited for, in a restart-only at least.
  Reason reason{Reason::gpu_pods_came_back, "GPU pods run on the node again: they must leave first",
                ""};
  if (auto not_yet = before_step_back(situation, reason)) return *not_yet;
  Decision decision = enter(situation, State::wait_for_jobs, std::move(reason));
  // Another replica with a newer view may have deleted the pod already. If its successor is in
  // sync, the change was not reverted: the clients are stale, and only the path through validation
  // finds them.
  annotate(decision, situation, situation.rules.keys.requested, "true");
  // If two replicas disagree, the stale one would send the node back whenever the other goes on.
  decision.freshness = Freshness::driver;
  return decision;
}

Decision wait_for_driver(const Situation& situation, fleet::KnownReason name, std::string what) {
  if (auto late = find_timeout(situation, what)) return fail_node(situation, *late);
  Duration left = situation.left_of(situation.policy().deadlines.restart);
  return hold({name, fmt::format("{}; times out in {}", what, human_duration(left)),
               "read the driver pod's events and logs"},
              left);
}

std::string describe_progress(const Pod& pod) {
  if (const auto* status = find_status(pod, is_in_trouble)) {
    return fmt::format("{} is starting: container {} {}", name_pod(pod), status->name.view(),
                       !status->waiting_reason.empty() ? status->waiting_reason.view()
                       : status->running()             ? "is running but not ready"
                                                       : "is not running");
  }
  return fmt::format("{} is starting: {}", name_pod(pod), to_string(pod.phase));
}

Decision await_driver_pod(const Situation& situation) {
  const Pod& pod = *situation.view.driver.pod;
  if (auto failure = find_crash_loop(situation, pod)) return fail_node(situation, *failure);
  const Duration limit = situation.policy().deadlines.image_pull;
  const ContainerStatus* hopeless = find_status(pod, is_hopeless);
  auto so_far = hopeless == nullptr ? std::nullopt : waited(situation, pod, *hopeless);
  if (so_far && *so_far >= limit) {
    return fail_node(situation, waits_in_vain(pod, *hopeless, *so_far));
  }
  Decision decision = wait_for_driver(situation, Reason::driver_starting, describe_progress(pod));
  if (decision.writes()) return decision;
  const std::string key(fleet::waiting_since_annotation);
  if (hopeless == nullptr) {
    annotate(decision, situation, key, {});
  } else if (!so_far) {
    annotate(decision, situation, key,
             fmt::format("{} {}", format_rfc3339(situation.now), wait_of(pod, *hopeless)));
  }
  // A replica with a stale view of the pod would undo what the other one notes, without a pause.
  if (decision.writes()) decision.freshness = Freshness::driver;
  if (hopeless == nullptr) return decision;
  // Named whichever deadline comes first: the two may be one, and differ by less than a second
  // between the controller and another process.
  const Duration left = std::min(limit - so_far.value_or(Duration::zero()), *decision.look_again);
  decision.look_again = left;
  decision.reason.name = Reason::driver_waiting;
  decision.reason.text =
      fmt::format("{}; the node fails in {}", describe_wait(pod, *hopeless), human_duration(left));
  return decision;
}

}  // namespace

Decision decide_pod_restart(const Situation& situation) {
  const fleet::DriverView& driver = situation.view.driver;
  const fleet::Keys& keys = situation.rules.keys;
  if (driver.pod == nullptr) {
    return wait_for_driver(situation, Reason::driver_pod_missing,
                           "the new driver pod does not exist yet");
  }
  if (driver.pod->meta.is_deleting()) {
    return wait_for_driver(
        situation, Reason::driver_pod_terminating,
        fmt::format("the old driver pod {} is terminating", name_pod(*driver.pod)));
  }
  if (auto left = driver.is_orphan() ? left_of_youth(situation, *driver.pod) : std::nullopt) {
    Decision decision = wait_for_driver(
        situation, Reason::orphan_too_young,
        fmt::format("the driver pod {} was just created, and its DaemonSet does not exist",
                    name_pod(*driver.pod)));
    if (decision.look_again) decision.look_again = std::min(*decision.look_again, *left);
    return decision;
  }
  bool safe_load = fleet::waits_for_safe_load(situation.node(), keys);
  // Only what failed or was asked for: a pod that waits for us is old too, and not broken.
  bool again = is_retry(situation.view) || fleet::is_requested(situation.node(), keys);
  // A request is for a restart, however healthy the pod is.
  bool asked = is_restart_requested(situation.view, situation.rules);
  bool to_be_replaced = driver.is_out_of_sync() || driver.is_orphan() ||
                        (driver.is_in_sync() && again && !safe_load &&
                         (asked || is_broken_from_before(situation, *driver.pod)));
  // Either way the driver is loaded again.
  bool reloads = to_be_replaced || (driver.is_in_sync() && safe_load);
  if (reloads && !is_restart_only(situation.view, situation.rules)) {
    // A pod may have arrived in between, or the change now affects the driver.
    if (has_gpu_pods_to_move(situation.view, situation.policy().pod_deletion)) {
      return send_back_to_evictions(situation);
    }
    if (Time from = situation.view.known.scheduler_sees_from; from > situation.now) {
      return hold({Reason::scheduler_catches_up,
                   "the API server was away, and the scheduler may not have seen the cordon yet; "
                   "the driver is restarted when no more pods can arrive",
                   ""},
                  from - situation.now);
    }
  }
  if (to_be_replaced) {
    Reason reason{
        Reason::restarts_driver,
        fmt::format("restarts the driver pod {} (revision {}, newest {})", name_pod(*driver.pod),
                    driver.pod->meta.labels.get(fleet::revision_label),
                    driver.newest_revision.view()),
        ""};
    if (driver.is_in_sync() && !knows_what_it_began_with(situation.node())) {
      return remember_beginning(situation, std::move(reason));
    }
    return delete_driver_pod(situation, std::move(reason));
  }
  if (!driver.is_in_sync()) {
    return wait_for_driver(situation, Reason::revision_unknown,
                           "the driver DaemonSet has no ControllerRevision yet");
  }
  if (safe_load) {
    Decision decision =
        hold({Reason::safe_to_load, "no process uses the GPUs: the driver may load", ""});
    annotate(decision, situation, keys.safe_load, {});
    decision.freshness = Freshness::driver;
    return decision;
  }
  if (driver.is_settled()) {
    Decision decision =
        enter(situation, State::validation,
              {Reason::driver_ready,
               fmt::format("{} is ready with the newest revision", name_pod(*driver.pod)), ""});
    // Another replica, which knows of a newer revision, may be about to replace it.
    if (is_from_before(situation, *driver.pod)) decision.freshness = Freshness::revisions;
    return decision;
  }
  return await_driver_pod(situation);
}

namespace {

bool is_newer_than_failed(const fleet::NodeView& view) {
  std::string_view failed = view.node->meta.annotations.get(fleet::failed_revision_annotation);
  const Text& newest = view.driver.newest_revision;
  return !failed.empty() && !newest.empty() && failed != newest;
}

Reason failure_of(const fleet::NodeView& view) {
  return Reason::of_failure(view.node->meta.annotations.get(fleet::failure_annotation));
}

// Needs a slot like any other node: the upgrade is in progress again.
Decision recover(const Situation& situation) {
  std::string pod = name_pod(*situation.view.driver.pod);
  if (!situation.view.known.granted || held_by_switch(situation.policy())) {
    auto held = holds_recovery(situation.view, situation.pool);
    Reason reason = held ? *held : Reason{Reason::next_in_line, "it gets a slot next", ""};
    reason.text =
        fmt::format("{} recovered; its validation waits for a slot: {}", pod, reason.text);
    return hold(std::move(reason));
  }
  Decision decision = enter(
      situation, State::validation,
      {Reason::driver_recovered, fmt::format("{} recovered; it must pass validation", pod), ""});
  annotate(decision, situation, std::string(fleet::failed_revision_annotation), {});
  // A user or a controller uncordoned the node meanwhile. It must stay cordoned until it is
  // validated. The user who had cordoned it earlier no longer wants the cordon to stay.
  take_out_of_service(decision, situation);
  return decision;
}

}  // namespace

bool has_recovered(const fleet::NodeView& view, const Rules& rules) {
  const fleet::ReasonName failure = failure_of(view).name;
  bool may_recover = failure == Reason::failed ||
                     std::find(restart_failures.begin(), restart_failures.end(), failure) !=
                         restart_failures.end();
  return may_recover && !is_newer_than_failed(view) && view.driver.is_settled() &&
         !fleet::waits_for_safe_load(*view.node, rules.keys);
}

Decision decide_failed(const Situation& situation) {
  const fleet::NodeView& view = situation.view;
  if (is_newer_than_failed(view)) {
    Decision decision =
        enter(situation, State::required,
              {Reason::newer_revision,
               fmt::format("the upgrade to revision {} failed, and the newest is now {}",
                           view.node->meta.annotations.get(fleet::failed_revision_annotation),
                           view.driver.newest_revision.view()),
               ""});
    // Or what it reports on is newer than what we know.
    decision.freshness = Freshness::revisions;
    return decision;
  }
  if (has_recovered(view, situation.rules)) return recover(situation);
  Reason failure = failure_of(view);
  failure.remedy = fmt::format("repair the node, then: lockstep retry {}", view.name());
  return hold(std::move(failure));
}

}  // namespace lockstep::upgrade

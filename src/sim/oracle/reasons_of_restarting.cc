// The driver pod: of which revision it is, whether it is there, and why it does not become ready.
#include <algorithm>

#include <fmt/format.h>

#include "sim/oracle/reason_truth.h"

namespace lockstep::sim {

namespace {

using fleet::Reason;
using fleet::State;

int64_t most_restarts(const Json& pod) {
  int64_t most = 0;
  any_container_status(pod, [&](const Json& status) {
    most = std::max(most, as_integer(find(status, "restartCount")));
    return false;
  });
  return most;
}

// The driver pod as every controller has to know it.
struct KnownPod {
  const Json* pod = nullptr;
  const DriverTruth* driver = nullptr;  // null: its DaemonSet is gone
  bool is_known = true;                 // or it has changed too lately

  explicit KnownPod(const Said& said) {
    const PodTruth* found = said.truth.driver_pod(said.name);
    if (found == nullptr) {
      is_known = !said.truth.may_be_unknown(said.truth.pod_gone(said.name));
      return;
    }
    pod = found->object.get();
    driver = said.truth.driver_of(*pod);
    is_known = !said.truth.may_be_unknown(found->changed) &&
               (driver == nullptr || !said.truth.may_be_unknown(driver->changed));
  }
  bool is_newest() const {
    return driver != nullptr && label_of(*pod, fleet::revision_label) == driver->newest;
  }
};

std::string is_missing(const Said& said) {
  const KnownPod known(said);
  return known.is_known && known.pod != nullptr ? "it has a driver pod" : "";
}

std::string is_ending(const Said& said) {
  const KnownPod known(said);
  if (!known.is_known) return {};
  if (known.pod == nullptr) return "it has no driver pod";
  return is_terminating(*known.pod) ? "" : "its driver pod is not ending";
}

std::string is_orphan(const Said& said) {
  const KnownPod known(said);
  if (!known.is_known) return {};
  if (known.pod == nullptr) return "it has no driver pod";
  return known.driver == nullptr ? "" : "the DaemonSet of its driver pod is there";
}

std::string is_in_sync(const Said& said) {
  const KnownPod known(said);
  if (!known.is_known) return {};
  if (known.pod == nullptr) return "it has no driver pod";
  return known.is_newest() ? "" : "its driver pod is not of the newest revision";
}

std::string is_settled(const Said& said) {
  std::string objection = is_in_sync(said);
  const KnownPod known(said);
  if (!objection.empty() || !known.is_known) return objection;
  return is_ready_pod(*known.pod) ? "" : "its driver pod is not ready";
}

std::string is_out_of_sync(const Said& said) {
  const KnownPod known(said);
  if (!known.is_known) return {};
  if (known.pod == nullptr) return "it has no driver pod";
  return known.is_newest() ? "its driver pod is of the newest revision" : "";
}

std::string has_newer_revision(const Said& said) {
  if (said.node.state != State::failed) return is_out_of_sync(said);
  const DriverTruth* driver = driver_for(said);
  if (driver == nullptr || said.truth.may_be_unknown(driver->changed)) return {};
  bool is_newer =
      annotation_of(*said.node.object, fleet::failed_revision_annotation) != driver->newest;
  return is_newer ? "" : "the newest revision is the one that failed";
}

std::string is_revision_unknown(const Said& said) {
  const KnownPod known(said);
  const DriverTruth* driver = driver_for(said);
  if (!known.is_known || driver == nullptr || said.truth.may_be_unknown(driver->changed)) return {};
  // Two objects of different drivers, or a pod of an unknown revision.
  if (driver->newest.empty() || driver->newest_digest != driver->digest) return {};
  if (known.pod != nullptr && !said.truth.is_of_known_revision(*known.pod)) return {};
  return fmt::format("the newest is {}", driver->newest);
}

std::string is_not_ready(const Said& said) {
  return is_surely_settled(said) ? "its driver pod is ready" : "";
}

std::string is_late(const Said& said) {
  if (is_surely_settled(said)) return "its driver pod is ready";
  return objection_to_haste(said,
                            [](const upgrade::Policy& policy) { return policy.deadlines.restart; });
}

std::string is_in_crash_loop(const Said& said) {
  const KnownPod known(said);
  if (!known.is_known) return {};
  if (known.pod == nullptr) return "it has no driver pod";
  int64_t restarts = most_restarts(*known.pod);
  bool is_so = by_some_policy(
      said, [&](const upgrade::Policy& policy) { return restarts > policy.deadlines.restarts; });
  return is_so ? "" : fmt::format("its driver pod restarted {} times", restarts);
}

// The wait itself has lasted, not only its pod. Whatever is unknown makes it no longer.
std::string objection_to_short_wait(const Said& said) {
  const PodTruth* pod = said.truth.driver_pod(said.name);
  // By the controller's clock, which may have been set.
  if (!said.fails || pod == nullptr || said.truth.clock_set.is_set()) return {};
  // It was replaced while the write was on its way.
  if (said.truth.may_be_unknown(pod->bound)) return {};
  Duration waited = pod->waited_first == Duration::max()
                        ? Duration::zero()
                        : said.truth.uptime() - pod->waited_first + seconds(1);
  bool is_over = by_some_policy(
      said, [&](const upgrade::Policy& policy) { return waited >= policy.deadlines.image_pull; });
  return is_over ? "" : "its time was not up";
}

std::string has_no_image(const Said& said) {
  if (std::string objection = objection_to_short_wait(said); !objection.empty()) return objection;
  const KnownPod known(said);
  if (!known.is_known) return {};
  if (known.pod == nullptr) return "it has no driver pod";
  return waits_for_image(*known.pod) ? "" : "its driver pod waits for no image";
}

std::string has_broken_container(const Said& said) {
  if (std::string objection = objection_to_short_wait(said); !objection.empty()) return objection;
  const KnownPod known(said);
  if (!known.is_known) return {};
  if (known.pod == nullptr) return "it has no driver pod";
  return waits_for_container(*known.pod) ? "" : "its driver pod has no broken container";
}

std::string waits_for_nothing(const Said& said) {
  const KnownPod known(said);
  if (!known.is_known) return {};
  if (known.pod == nullptr) return "it has no driver pod";
  return waits_in_vain(*known.pod) ? "" : "its driver pod waits for nothing";
}

// Ready, of the newest revision, and the previous one was not deleted on our behalf.
std::string is_replaced(const Said& said) {
  std::string objection = is_settled(said);
  if (!objection.empty()) return objection;
  std::string_view began_with = annotation_of(*said.node.object, fleet::began_with_annotation);
  const PodTruth* pod = said.truth.driver_pod(said.name);
  bool is_same = pod != nullptr && text_at(*pod->object, "metadata", "uid") == began_with;
  return is_same ? "it has the driver pod with which its upgrade began" : "";
}

// Without hidden changes, the API was never away.
std::string may_be_cut_off(const Said& said) {
  return said.truth.blindness > seconds(5) ? "" : "the API was never away";
}

std::string is_behind(const Said& said) {
  const DriverTruth* driver = driver_for(said);
  Duration last = std::max({said.node.changed, said.truth.pod_gone(said.name),
                            driver == nullptr ? Duration::min() : driver->changed});
  for (const auto& [key, pod] : said.truth.pods_on(said.name)) last = std::max(last, pod.changed);
  return said.truth.may_be_unknown(last) ? "" : "nothing about it has changed for so long";
}

}  // namespace

const Objections& objections_to_restarting() {
  static const Objections table = {
      {Reason::driver_container_broken, has_broken_container},
      {Reason::driver_crash_loop, is_in_crash_loop},
      {Reason::driver_image_unavailable, has_no_image},
      {Reason::driver_not_ready, is_not_ready},
      {Reason::driver_pod_missing, is_missing},
      {Reason::driver_pod_terminating, is_ending},
      {Reason::driver_ready, is_settled},
      {Reason::driver_recovered, is_settled},
      {Reason::driver_start_timeout, is_late},
      {Reason::driver_starting, is_not_ready},
      {Reason::driver_replaced, is_replaced},
      {Reason::driver_waiting, waits_for_nothing},
      {Reason::in_sync, is_in_sync},
      {Reason::newer_revision, has_newer_revision},
      {Reason::no_longer_needed, is_settled},
      {Reason::not_verified, may_be_cut_off},
      {Reason::orphan, is_orphan},
      {Reason::out_of_sync, is_out_of_sync},
      {Reason::restarts_driver, is_not_ready},
      {Reason::revision_unknown, is_revision_unknown},
      {Reason::scheduler_catches_up, may_be_cut_off},
      {Reason::watches_behind, is_behind},
      {Reason::orphan_too_young, is_orphan},
  };
  return table;
}

}  // namespace lockstep::sim

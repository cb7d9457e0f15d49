#include "node/moving.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "upgrade/evicting.h"
#include "upgrade/pod_names.h"

namespace lockstep::node {

namespace {

using upgrade::Fate;

upgrade::EvictionPolicy policy_of(const ManagerSettings& settings) {
  upgrade::EvictionPolicy policy;
  policy.force = settings.force;
  policy.delete_empty_dir = settings.delete_empty_dir;
  policy.timeout = settings.drain_timeout;
  return policy;
}

std::string describe_protection(const Pod& pod, const ManagerSettings& settings) {
  std::vector<std::string> objections;
  if (pod.meta.controller() == nullptr && !settings.force) {
    objections.push_back(
        "has no controller that would create it again (allow with DRAIN_USE_FORCE)");
  }
  if (pod.spec.has_empty_dir && !settings.delete_empty_dir) {
    objections.push_back("keeps data in an emptyDir (allow with DRAIN_DELETE_EMPTYDIR_DATA)");
  }
  return upgrade::name_pod(pod) + " " + join(objections, " and ");
}

void add_leaving(Moving& moving, const fleet::PodOnNode& entry) {
  moving.leaving.push_back(entry.pod);
  if (entry.pod->meta.is_deleting()) {
    moving.ending.push_back(entry.pod);
    return;
  }
  if (entry.tries && entry.tries->refusals > 0) {
    moving.refused.push_back(
        fmt::format("{} ({})", upgrade::name_pod(*entry.pod), entry.tries->message));
    if (entry.pause > Duration::zero()) {
      moving.next_try = std::min(moving.next_try.value_or(entry.pause), entry.pause);
      return;
    }
  }
  moving.to_evict.push_back(entry.pod);
}

template <typename Judge>
Moving move_by(const ManagerView& view, const ManagerSettings& settings, const Judge& judge) {
  Moving moving;
  for (const PodHere& here : view.pods) {
    Fate fate = judge(here.entry);
    if (fate == Fate::leaves) add_leaving(moving, here.entry);
    if (fate == Fate::protected_) {
      moving.protected_pods.push_back(describe_protection(here.pod(), settings));
    }
  }
  return moving;
}

}  // namespace

Moving move_gpu_pods(const ManagerView& view, const ManagerSettings& settings) {
  auto policy = policy_of(settings);
  return move_by(view, settings, [&](const fleet::PodOnNode& entry) {
    return upgrade::judge_gpu_pod(entry, policy).fate;
  });
}

Moving move_all_pods(const ManagerView& view, const ManagerSettings& settings) {
  upgrade::DrainPolicy policy{true, policy_of(settings)};
  policy.eviction.pods = settings.drain_pods;
  upgrade::Rules rules{fleet::Keys(settings.key_domain)};
  return move_by(view, settings, [&](const fleet::PodOnNode& entry) {
    return upgrade::judge_for_drain(entry, policy, rules).fate;
  });
}

std::string describe(const Moving& moving) {
  std::string text =
      fmt::format("waits for {} to end: {}", upgrade::counted(moving.leaving.size(), "pod"),
                  upgrade::name_pods(moving.leaving));
  if (!moving.refused.empty()) {
    text += fmt::format("; not yet evicted: {}", upgrade::name_some(moving.refused));
  }
  return text;
}

}  // namespace lockstep::node

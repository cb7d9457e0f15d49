// The failure controller: pods whose claims no DRA driver prepares (upgrade/prepare_failure.h). It
// learns of them from the kubelets' events, restarts a stale plugin, and reports on a pod with an
// invalid request that it will never start. It reads the watches of the upgrade controller and
// writes only while it leads.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "kube/cache_feed.h"
#include "kube/events.h"
#include "kube/queue.h"
#include "objects/event.h"
#include "upgrade/prepare_failure.h"
#include "view/fleet_watch.h"

namespace lockstep::controller {

struct FailureOptions {
  upgrade::OnBadConfig on_bad_config = upgrade::OnBadConfig::leave;
  std::string instance;  // of events: the pod's or host's name
  // Words of other drivers by which a wrong request is known.
  std::vector<std::string> bad_config_words = {};
};

struct FailureCounts {
  uint64_t plugins_restarted = 0;
  uint64_t bad_configs = 0;  // pods with that message
  uint64_t pods_failed = 0;
  uint64_t errors = 0;
};

class FailureController {
 public:
  FailureController(kube::Api& api, Loop& loop, Random& random, Log& log, view::FleetWatch& watch,
                    FailureOptions options);
  FailureController(const FailureController&) = delete;
  FailureController& operator=(const FailureController&) = delete;

  // Begins to watch; writes only between lead() and follow().
  void start() { events_watch_.reflector.start(); }
  void lead();
  void follow() { leading_ = false; }
  // Nothing is being written.
  bool idle() const { return queue_.in_work() == 0 && events_.idle(); }

  const FailureCounts& counts() const { return counts_; }
  // A part of /metrics.
  std::string metrics() const;
  // Nodes whose plugin is stale, and why nothing is done about it yet.
  const std::map<std::string, fleet::Reason>& reasons() const { return reasons_; }

 private:
  // Keys of the queue: "node gpu-7" and "pod namespace/name".
  void work(const std::string& key);
  void work_on_node(const std::string& key, const std::string& name);
  void work_on_pod(const std::string& key, const ObjectKey& pod);
  void look_at(const ObjectKey& pod);
  void look_at_all();
  std::vector<upgrade::HeldPod> held_on(const std::string& node) const;
  // A claim of it is allocated with a GPU, and reserved for it.
  bool has_gpu_claim(const Pod& pod) const;
  // The newest event about the pod, if it is about this very one.
  std::optional<upgrade::HeldPod> newest_event(const fleet::PodPtr& pod) const;
  void write_note(const std::string& key, const fleet::NodeView& view,
                  const upgrade::Healing& healing);
  void restart_plugin(const std::string& key, const fleet::NodeView& view, const Pod& plugin,
                      const upgrade::Healing& healing);
  void write_verdict(const std::string& key, const fleet::PodPtr& pod,
                     const upgrade::PodVerdict& verdict);
  // True: it was done. Else the key comes again.
  bool take(const std::string& key, const kube::Reply& reply, std::string_view what);

  kube::Api& api_;
  Loop& loop_;
  Log& log_;
  view::FleetWatch& watch_;
  FailureOptions options_;
  kube::CachedResource<Event> events_watch_;
  kube::EventRecorder events_;
  kube::WorkQueue queue_;
  bool leading_ = false;
  FailureCounts counts_;
  std::map<std::string, fleet::Reason> reasons_;
  Scope scope_;
};

}  // namespace lockstep::controller

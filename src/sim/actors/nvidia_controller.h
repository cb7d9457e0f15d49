// NVIDIA's own upgrade controller, as the GPU Operator runs it, by its rules and not by ours: it
// goes over all nodes state by state, counts slots from states, reads the skip label only in
// upgrade-required, knows nothing of waves, restarts no driver clients, and takes its labels off
// when autoUpgrade is false.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "fleet/keys.h"
#include "fleet/state.h"
#include "sim/actors/parts.h"
#include "sim/actors/view.h"
#include "sim/actors/writer.h"
#include "upgrade/policy.h"

namespace lockstep::sim {

class NvidiaController {
 public:
  explicit NvidiaController(Parts parts);
  NvidiaController(const NvidiaController&) = delete;
  NvidiaController& operator=(const NvidiaController&) = delete;

 private:
  // A node with a driver pod.
  struct DriverNode {
    Object node;
    Object pod;
    fleet::State state = fleet::State::unknown;
    bool in_sync = false;
    bool orphaned = false;

    std::string name() const { return node->meta.name.str(); }
    bool has(std::string_view annotation) const {
      return node->meta.annotations.contains(annotation);
    }
    bool unschedulable() const;
    bool is_ready() const;
    bool is_driver_ready() const;  // in sync, and every container of it ready
  };

  void reconcile_soon(Duration delay);
  void reconcile();
  std::vector<DriverNode> build_state();
  std::string newest_revision(const Object& daemon_set);
  void remove_labels();
  void process(const DriverNode& node);
  void process_done_or_unknown(const DriverNode& node);
  void process_upgrade_required(const std::vector<DriverNode>& nodes);
  void process_wait_for_jobs(const DriverNode& node);
  void process_pod_deletion(const DriverNode& node);
  void process_pod_restart(const DriverNode& node);
  void process_validation(const DriverNode& node);
  // To uncordon-required, or to upgrade-done where the node was cordoned before.
  void finish(const DriverNode& node);
  void change(const DriverNode& node, fleet::State to, JsonObject annotations = {},
              Json unschedulable = Json());
  std::vector<Object> gpu_pods_on(const std::string& node);

  Parts parts_;
  fleet::Keys keys_;
  View view_;
  Writer writer_;
  upgrade::Policy policy_;
  TimerId timer_ = 0;
  Scope scope_;
};

}  // namespace lockstep::sim

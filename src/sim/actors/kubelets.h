// The kubelets of the simulated GPU machines. They speak to any Kubernetes API: they register their
// nodes, take up the pods that are bound to them, and bring each through its life as a real kubelet
// would, with as few writes. A pod's labels decide what it does: a driver pod reloads the machine's
// kernel module, the DRA plugin publishes a ResourceSlice and prepares claims with the NVML handle
// that it opened at its start, a validator waits for the driver.
//
// Pods are steered by annotations: sim.lockstep.dev/run-seconds (ends Succeeded after that long),
// sim.lockstep.dev/stop-seconds (how long it takes to stop; killed at the end of its grace period),
// sim.lockstep.dev/ignore-stop (never ends until it is deleted by force).
//
// Machines, accidents and preparations are the truth of a run, for invariants.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/indexed_map.h"
#include "kube/events.h"
#include "sim/actors/claim_book.h"
#include "sim/actors/dra.h"
#include "sim/actors/machine.h"
#include "sim/actors/node_agent.h"
#include "sim/actors/parts.h"
#include "sim/actors/pod_run.h"
#include "sim/actors/view.h"
#include "sim/actors/writer.h"

namespace lockstep::sim {

struct KubeletOptions {
  Latencies latencies;
  // Zero: no leases (virtual time). Real kubelets: 10 s.
  Duration lease_interval{0};
  std::map<std::string, NodeBehaviour> behaviours;  // by node
  // Kubelets of KEP-5322: a pod whose claim can never be prepared has failed.
  bool knows_error_type = false;
};

// The driver's module was taken away under a pod that used it.
struct Accident {
  std::string node;
  ObjectKey pod;
  Time at;
  std::string what;
  // A driver pod took the place of another; otherwise its container was restarted where it was.
  bool by_new_pod = false;
  // A DaemonSet's GPU pod cannot be evicted away; by the rules it is left where it is.
  bool of_daemon_set = false;
};

class Kubelets {
 public:
  Kubelets(Parts parts, View& view, KubeletOptions options);
  Kubelets(const Kubelets&) = delete;
  Kubelets& operator=(const Kubelets&) = delete;

  // A whole Node object; before start(). Its GPUs are status.capacity["nvidia.com/gpu"].
  void add_node(Json node);
  void start();

  // The truth.
  const Machine& machine(const std::string& node) const { return nodes_.at(node).machine; }
  std::vector<std::string> node_names() const;
  bool has_node(const std::string& name) const { return nodes_.contains(name); }
  const std::vector<Accident>& accidents() const { return accidents_; }
  const Preparations& preparations() const { return preparations_; }
  const ClaimBook& claims(const std::string& node) const { return nodes_.at(node).claims; }
  // Null when this node's kubelet does not have it.
  const PodRun* find_run(const std::string& node, const ObjectKey& pod) const;
  // A container of a workload uses the node's GPUs now.
  bool is_busy(const std::string& node) const;
  const WriterCounts& write_counts() const { return writer_.counts(); }

  // Faults, at any time.
  void set_behaviour(const std::string& node, NodeBehaviour behaviour);
  // NotReady, and the kubelet does nothing, until it is ready again.
  void set_ready(const std::string& node, bool ready);
  // It runs, but makes no progress: repairing the machine includes a restart of the driver.
  bool has_hung_driver(const std::string& node) const;
  // The driver's containers end with an error, and are restarted as any other.
  void crash_driver(const std::string& node);
  // The kubelet does nothing until it is released; its node stays Ready.
  void set_hung(const std::string& node, bool hung);
  // The machine is off (kubelet_power.cc): NotReady, nothing runs, the module is gone. Once it is
  // on again its pods are restarted, and those that are not to be restarted have failed.
  void switch_off(const std::string& node);
  void switch_on(const std::string& node);
  // A fatal error of the GPUs (an XID): the work on them dies, and until they have been reset, some
  // twenty minutes later, the node takes no more.
  void break_gpus(const std::string& node);
  // The machine is gone for good, and its Node was deleted or will be. It may come back as a new
  // machine of the same name, which registers itself.
  void take_away(const std::string& node);
  void bring_back(const std::string& node);
  bool is_there(const std::string& node) const { return !nodes_.at(node).gone; }

 private:
  using Run = std::shared_ptr<PodRun>;
  struct NodeState {
    Machine machine;
    bool down = false;  // NotReady
    bool hung = false;
    bool off = false;
    bool gone = false;
    std::map<ObjectKey, Run> runs;
    std::set<Text> images;               // that are on its disk
    std::map<std::string, int> crashes;  // of driver containers, by version
    int64_t slice_generation = 0;
    int broken = 0;  // how often its GPUs broke, to identify the last time
    ClaimBook claims;
    // The driver pod that has loaded the module, or is about to. A second one on the same machine
    // waits until it is gone: they would take the module away from each other.
    std::string driver_uid;

    bool hangs() const { return down || hung || off || gone || machine.behaviour.hangs; }
  };

  void on_pod(const ObjectCache::Change& change);
  void on_claim(const GenericObject& claim);
  void admit(NodeState& node, const GenericObject& object);
  void adopt(NodeState& node, const Run& run);
  void begin_stop(NodeState& node, const Run& run, const ObjectMeta& meta);
  void resume(NodeState& node);
  void start_anew(const Run& run);
  void admit_all(NodeState& node);
  void write_allocatable(const NodeState& node, int gpus);

  // The steps of a pod (kubelet_steps.cc).
  void enter(const Run& run);
  void enter_again(const Run& run, Step step);
  void begin_init(NodeState& node, const Run& run);
  void manage_driver(NodeState& node, const Run& run);
  void wait_init(NodeState& node, const Run& run);
  void finish_init(const Run& run);
  void finish_pull(NodeState& node, const Run& run);
  void start_containers(NodeState& node, const Run& run);
  void become_ready(NodeState& node, const Run& run);
  void crash(NodeState& node, const Run& run);
  void finish(NodeState& node, const Run& run);
  void remove_stopped(NodeState& node, const Run& run);
  void go_to(const Run& run, Step step, Duration delay);
  Duration draw(const NodeState& node, const Range& range);
  Duration scaled(const NodeState& node, Duration duration) const;
  Duration back_off(const NodeState& node, int failures) const;

  // Their claims (kubelet_claims.cc).
  struct Claim {
    ResourceClaim value;
    Object object;
  };
  void prepare(NodeState& node, const Run& run);
  std::optional<std::vector<Claim>> find_claims(const PodRun& run);
  // False: the pod waits, or has failed.
  bool prepare_claims(NodeState& node, const Run& run);
  void fail_pod(NodeState& node, const Run& run, const std::string& why);
  void end_claims(NodeState& node, const Run& run);

  // What pods do to the machine (kubelet_roles.cc).
  void unload_module(NodeState& node, bool by_new_pod);
  Duration start_driver(NodeState& node, const Run& run, Step& next);
  void finish_driver(NodeState& node, const Run& run);
  void label_driver(NodeState& node);
  bool holds_driver(NodeState& node, const Run& run);
  void leave_driver(NodeState& node, const Run& run);
  bool driver_ready(const NodeState& node) const;
  const NvmlHandle* plugin_of(const NodeState& node) const;
  void publish_slice(NodeState& node, const Run& plugin);
  void write_slice(NodeState& node, const NvmlHandle& handle);
  void wake(NodeState& node);

  void publish(const Run& run);
  void write_status(const Run& run);

  Parts parts_;
  View& view_;
  KubeletOptions options_;
  Writer writer_;
  NodeAgent agent_;
  kube::EventRecorder events_;
  DecodeContext context_;
  IndexedMap<std::string, NodeState> nodes_;
  std::vector<Accident> accidents_;
  Preparations preparations_;
  Scope scope_;
};

}  // namespace lockstep::sim

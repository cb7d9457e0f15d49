// The rollouts of the cluster and the waves that were written down for them, and what follows for
// each node: may it begin now. The decision about a node asks here; so does the loop of the
// rollouts.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fleet/node_view.h"
#include "kube/cache_feed.h"
#include "objects/config_map.h"
#include "objects/generic_object.h"
#include "rollout/rollout_gate.h"
#include "rollout/rollout_spec.h"
#include "rollout/rollout_status.h"
#include "rollout/rollout_view.h"
#include "upgrade/policy.h"
#include "world/log.h"
#include "world/loop.h"
#include "world/random.h"

namespace lockstep::view {

// What is said of a Job gate where they are off.
inline constexpr std::string_view job_gates_are_off =
    "Job gates are off in this cluster (controller.gates.jobs.enabled, --job-gates)";

struct RolloutWatchOptions {
  bool enabled = false;                // off: no rollouts
  bool allows_job_gates = true;        // off: a rollout that has one is invalid
  std::string ns = "lockstep-system";  // of the waves' ConfigMaps
  // The zones of maintenance windows; without it there is UTC alone.
  rollout::TimeZones time_zones;
};

struct KnownRollout {
  std::shared_ptr<const GenericObject> object;
  rollout::RolloutSpec spec;
  rollout::RolloutStatus status;
  std::vector<std::optional<rollout::RecordedWave>> recorded;
  rollout::RolloutGate gate;

  std::string name() const { return object->meta.name.str(); }
  // A rollout is in progress.
  bool is_active() const;
  // `set`: "namespace/name" of the driver's DaemonSet.
  bool covers(const std::string& pool, const std::string& set) const;
};

// The name of the ConfigMap that holds a wave's nodes, and its content.
std::string wave_name(const std::string& rollout, size_t wave);
Json wave_to_json(const ObjectKey& key, const std::string& rollout, size_t wave,
                  const rollout::RecordedWave& record, const std::string& resource_version);

class RolloutWatch {
 public:
  RolloutWatch(kube::Api& api, Loop& loop, Random& random, Log& log, DecodeContext& context,
               RolloutWatchOptions options);
  RolloutWatch(const RolloutWatch&) = delete;
  RolloutWatch& operator=(const RolloutWatch&) = delete;

  void start();
  bool enabled() const { return options_.enabled; }
  const RolloutWatchOptions& options() const { return options_; }
  // What nodes may do has changed, or by which rules.
  void on_gates(std::function<void()> listener) { gate_listeners_.push_back(std::move(listener)); }
  // Anything has.
  void on_change(std::function<void()> listener) { listeners_.push_back(std::move(listener)); }

  const std::map<std::string, KnownRollout>& all() const { return known_; }
  // The rollout whose waves govern a node; null if not found. A rollout in progress keeps its nodes
  // until it has finished; otherwise the newest counts.
  const KnownRollout* governing(const std::string& pool, const std::string& set) const;
  // The same if the node's DaemonSet is unknown: any rollout that may govern it.
  const KnownRollout* possibly_governing(const std::string& pool) const;
  // The one by whose waves this node goes; null: none.
  const KnownRollout* rollout_of(const fleet::NodeView& view) const;
  // Fills in what keeps the node from beginning, and its group.
  void add_to(fleet::NodeView& view) const;
  // The rules of the pool while a rollout goes over it: its own over those of `object`, which is
  // the ClusterPolicy or NVIDIADriver that says them.
  void change_policy(const std::string& pool, const Json& object, bool own_switch,
                     const upgrade::Policy& fallback, upgrade::Policy& policy) const;
  // And what its open wave adds to them.
  void limit_to_wave(const std::string& pool, upgrade::Policy& policy) const;

  // A ConfigMap of ours that belongs to a rollout: the nodes of its waves, and what its loop writes
  // down of gates and bakes. Null: no ConfigMap has this name.
  std::shared_ptr<const ConfigMap> record(const std::string& name) const {
    return waves_.cache.find(kube::KeyView(options_.ns, name));
  }
  ObjectKey record_key(const std::string& name) const { return {options_.ns, name}; }
  // What was written, of these or of a rollout's status, is to be shown first.
  void expect_record(const std::string& name, std::string_view version) {
    waves_.cache.expect(record_key(name), version);
  }
  void expect_rollout(const std::string& name, std::string_view version) {
    rollouts_.cache.expect(ObjectKey{"", name}, version);
  }
  bool is_current(const std::string& rollout) const {
    return rollouts_.cache.is_current(ObjectKey{"", rollout}) &&
           waves_.cache.expectations().empty();
  }
  template <typename Visit>
  void for_each_watch(Visit visit) const {
    if (!enabled()) return;
    visit(rollouts_, "driverrollouts");
    visit(waves_, "configmaps");
  }

 private:
  void read();
  // The nodes that were written down for its waves.
  void read_records(KnownRollout& rollout) const;
  void take_wave(const ConfigMap& map, bool is_there);
  void wait_for_windows();
  std::string signature() const;

  Loop& loop_;
  RolloutWatchOptions options_;
  kube::CachedResource<GenericObject> rollouts_;
  kube::CachedResource<ConfigMap> waves_;
  std::map<std::string, KnownRollout> known_;
  // By the ConfigMap's name, with its version.
  std::map<std::string, std::pair<std::string, rollout::RecordedWave>> records_;
  std::string signature_;
  std::vector<std::function<void()>> gate_listeners_;
  std::vector<std::function<void()>> listeners_;
  TimerId timer_ = 0;
  Scope scope_;
};

}  // namespace lockstep::view

// The cluster as it really is, kept up to date change by change, and who made it so: what the
// invariants of an upgrade read. It knows nothing of what a controller believes, except how long a
// change may have been hidden from it.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/store/store.h"
#include "base/indexed_map.h"
#include "fleet/keys.h"
#include "fleet/state.h"
#include "rollout/rollout_status.h"
#include "sim/actors/cluster.h"
#include "sim/actors/object_facts.h"
#include "sim/oracle/sight.h"
#include "upgrade/policy.h"

namespace lockstep::sim {

enum class Cordon { none, ours, others };

struct NodeTruth {
  Document object;
  fleet::State state = fleet::State::unknown;
  bool unschedulable = false;
  bool ready = true;
  std::string pool;
  Cordon cordon = Cordon::none;
  Duration cordon_changed = Duration::min();  // all on the loop's uptime
  Duration state_changed = Duration::min();
  Duration changed = Duration::min();  // in any way
  // When a client other than the controller last changed labels, annotations or the cordon.
  Duration meddled = Duration::min();
  // Others cordoned it while the upgrade held it, or its failure: nothing on the node distinguishes
  // that cordon from ours.
  bool cordoned_in_flight = false;
  // The controller gave it a slot, and its upgrade has not ended.
  bool begun = false;
  // Others had cordoned it before that: it stays their cordon, even if it is uncordoned meanwhile.
  bool cordoned_before = false;
  Duration ready_changed = Duration::min();
  // The controller keeps it out of service because it got a driver that no open wave allows. That
  // is not an upgrade of ours, whatever the limits say.
  bool contained = false;
  // The version at which it went out of service by others' doing; zero: it did not.
  uint64_t out_since = 0;

  // It is out of service because of the upgrade. A node that is validated and that a user has
  // uncordoned before us is back.
  bool out_by_us() const {
    if (contained) return false;
    if (cordon == Cordon::ours) return true;
    bool is_back = state == fleet::State::uncordon && !unschedulable;
    return begun && cordon != Cordon::others && !is_back;
  }
};

struct PodTruth {
  Document object;
  Duration bound = Duration::min();  // when it came to the node
  // When one of its containers was first seen to wait for what may never come; max: none was.
  Duration waited_first = Duration::max();
  Duration changed = Duration::min();  // in any way
  bool is_driver = false;              // as is_driver_pod(); asked at every change of the node
};

// A driver's DaemonSet.
struct DriverTruth {
  std::string newest;                  // the hash of its newest revision
  std::string digest;                  // DRIVER_CONFIG_DIGEST of its template
  std::string newest_digest;           // of the newest revision; another: that is not made yet
  Duration changed = Duration::min();  // when either last did
  std::string digest_before;
  Duration digest_changed = Duration::min();
  bool is_rolled = false;  // Kubernetes replaces its pods by itself
  Duration rolled_changed = Duration::min();
};

class Truth {
 public:
  Truth(Cluster& cluster, fleet::Keys keys);
  Truth(const Truth&) = delete;
  Truth& operator=(const Truth&) = delete;

  void take(const std::string& storage, const apiserver::Change& change, bool ours);

  const fleet::Keys& keys() const { return keys_; }
  Cluster& cluster() const { return cluster_; }
  Duration uptime() const { return cluster_.loop.uptime(); }

  // How long a change may stay unknown to the controller: nearly nothing on a calm day, minutes
  // where watches lag, break and go silent. What others did since then it cannot be blamed for.
  Duration blindness = minutes(10);
  // How long a write of the controller's may be on its way: for what came meanwhile it cannot be
  // blamed, whatever it has read before.
  Duration lateness{0};
  bool came_meanwhile(Duration when) const {
    return lateness > Duration::zero() && when >= uptime() - lateness;
  }
  // The nodes' steps are NVIDIA's own controller's.
  bool coordinates = false;
  // Since when a controller has been there; nothing: none is.
  std::optional<Duration> controllers_since = Duration::min();
  // When the controller's clock was last set.
  Time clock_set;
  // What the API has shown to the controllers; null: nothing is between them.
  const Sight* sight = nullptr;
  // What others did from this moment on may be unknown to a controller that has had the time
  // `since_shown` since it was shown what happened before.
  Duration known_until(Duration since_shown = Duration::zero()) const;
  bool may_be_unknown(Duration when) const { return when >= known_until(); }

  const std::map<std::string, NodeTruth>& nodes() const { return nodes_.in_order(); }
  const NodeTruth* node(const std::string& name) const;
  // By namespace and name; all but those that are gone.
  const std::map<ObjectKey, PodTruth>& pods_on(const std::string& node) const;
  // When one last went.
  Duration pod_gone(const std::string& node) const;
  // The one that stays, where an old one is still ending; null: none.
  const PodTruth* driver_pod(const std::string& node) const;
  // Of the DaemonSet that made the pod; null: it is deleted, or the pod has no owner.
  const DriverTruth* driver_of(const Json& pod) const;
  // Of the DaemonSet with this uid; null if not found.
  const DriverTruth* driver(std::string_view uid) const;
  // Its DaemonSet has the revision that it was made from.
  bool is_of_known_revision(const Json& driver_pod) const;
  // The driver pod has what its template wants: nothing has to be reloaded.
  bool is_configured_as_wanted(const Json& driver_pod) const;
  // It has, or had until a moment ago: a controller that read it just before, and began to replace
  // it for another reason, could not know.
  bool was_just_as_wanted(const Json& driver_pod) const;
  // Even a fresh read right before a step cannot see a change that is younger than this.
  static constexpr Duration time_to_look = seconds(5);

  // What a rollout's status says. Read once for each version of the object: many ask for it.
  const rollout::RolloutStatus& rollout_status(const apiserver::StoredPtr& rollout) const;

  // The policy in force, and those before it that the controller may still believe in.
  std::vector<const upgrade::Policy*> policies(const std::string& pool) const;
  // The highest of these; a limit of zero for `parallel` says none.
  struct Limits {
    int64_t unavailable = 0;
    int64_t parallel = 0;
    int64_t failures = 0;
  };
  Limits limits(const std::string& pool) const;

  // Names of nodes, by pool.
  const std::set<std::string>& out_by_us(const std::string& pool) const;
  const std::set<std::string>& out_by_others(const std::string& pool) const;
  const std::set<std::string>& active(const std::string& pool) const;  // and begun by us
  int64_t total(const std::string& pool) const;

 private:
  struct Pool {
    std::set<std::string> nodes;
    std::set<std::string> out_by_us;
    std::set<std::string> out_by_others;
    std::set<std::string> active;
    int64_t total = 0;
    // Until when there were how many, as far as it was more than ever since: fewer and fewer.
    std::deque<std::pair<Duration, int64_t>> larger_totals;
  };
  struct Revision {
    int64_t number = 0;
    std::string created;
    std::string hash;
    std::string digest;
  };

  void take_node(const apiserver::Change& change, bool ours);
  // Where a node counts; nowhere when it is not there.
  struct Membership {
    std::string pool;
    bool is_there = false;
    bool out_by_us = false;
    bool out_by_others = false;
    bool active = false;
  };
  static Membership membership_of(const NodeTruth& node);
  void count(const std::string& name, const Membership& before, const Membership& after);
  void note_total(const std::string& pool_name);
  void take_pod(const apiserver::Change& change);
  void take_daemon_set(const apiserver::Change& change);
  void take_revision(const apiserver::Change& change);
  void read_policies();
  // While a rollout is in progress, its wave may have limits of its own.
  upgrade::Policy as_the_waves_say(const std::string& pool, upgrade::Policy policy) const;
  const Pool& pool(const std::string& name) const;

  Cluster& cluster_;
  fleet::Keys keys_;
  struct ReadStatus {
    apiserver::StoredPtr rollout;
    rollout::RolloutStatus status;
  };
  // The last ones read: a change is compared as it was and as it is.
  mutable std::array<ReadStatus, 8> statuses_;
  mutable size_t next_status_ = 0;
  IndexedMap<std::string, NodeTruth> nodes_;
  IndexedMap<std::string, std::map<ObjectKey, PodTruth>> pods_;  // by node
  IndexedMap<std::string, Duration> pod_gone_;                   // by node
  std::map<std::string, Pool> pools_;
  std::map<std::string, std::deque<std::pair<Duration, upgrade::Policy>>> policies_;
  std::map<std::string, DriverTruth, std::less<>> drivers_;                        // by uid
  std::map<std::string, std::map<std::string, Revision>, std::less<>> revisions_;  // by uid, name
};

}  // namespace lockstep::sim

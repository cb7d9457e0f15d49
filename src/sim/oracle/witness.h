// Sees every change of the true state and reports what must never happen: the invariants of an
// upgrade, one small class each (invariant_*.h). It reads the store itself, not a controller's
// view, and reports only violations by the controller.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "apiserver/store/store.h"
#include "fleet/keys.h"
#include "fleet/reason.h"
#include "fleet/state.h"
#include "kube/api.h"
#include "sim/actors/cluster.h"
#include "sim/oracle/invariant.h"
#include "sim/oracle/invariant_steps.h"
#include "sim/oracle/truth.h"

namespace lockstep::sim {

class NoAccident;
class OneAnswer;
class TrueReasons;

struct WitnessOptions {
  std::string key_domain = "nvidia.com";
  // How long others' changes may stay hidden from the controller. With watches that lag, break or
  // go silent a long time; on a calm day a few seconds, and every invariant is strict.
  Duration blindness = minutes(10);
  // How long a write of the controller's may be on its way.
  Duration lateness{0};
  // The controller is to renew the driver's clients before a node returns to service.
  bool clients_renewed = true;
  // It is to keep nodes out of service that got a driver which no open wave allows.
  bool outsiders_contained = true;
};

class Witness {
 public:
  explicit Witness(Cluster& cluster, WitnessOptions options = {});
  ~Witness();
  Witness(const Witness&) = delete;
  Witness& operator=(const Witness&) = delete;

  static constexpr size_t most_violations = 100;
  // In the order in which they were seen, each with its time and the name of its invariant; at most
  // that many are kept.
  const std::vector<std::string>& violations() const { return violations_; }
  // Called at the very moment of the first.
  void on_first_violation(std::function<void()> listener) { on_first_ = std::move(listener); }
  // What the machines did since the last change of an object.
  void look_at_machines();
  // A call of the controller's, whatever becomes of it.
  void see_request(const kube::Request& request);
  // A call of one controller's, and the answer that it got (Invariant::on_call).
  void see_call(int life, const kube::Request& request);
  void see_reply(int life, const kube::Request& request, const kube::Reply& reply);
  // What is said of each node, at a time when nothing has changed for a while.
  void check_reasons(const std::map<std::string, fleet::Reason>& reasons);
  // What the controller says of each node, and what a process says that has only the API.
  void compare_answers(const std::map<std::string, fleet::Reason>& controller,
                       const std::map<std::string, fleet::Reason>& observer);
  // From now on nothing is hidden for longer.
  void set_blindness(Duration blindness) {
    truth_.blindness = blindness;
    truth_.sight = nullptr;
  }
  // What is shown to the controllers is to be told to it; null: nothing is ever hidden for long.
  Sight* sight() { return sight_ ? &*sight_ : nullptr; }
  // From this moment on a controller is running, or not.
  void see_controllers(bool are_there) {
    truth_.controllers_since.reset();
    if (sight_) sight_->begin();
    if (are_there) truth_.controllers_since = cluster_.loop.uptime();
  }
  // The controller's clock was set at this moment.
  void see_clock_step() { truth_.clock_set = cluster_.loop.now(); }
  const Truth& truth() const { return truth_; }

  // Of each node: when it was last given a slot, and when it was last returned to service.
  const std::map<std::string, Time>& began() const { return began_; }
  const std::map<std::string, Time>& returned() const { return returned_; }
  // How long finished upgrades took, from the slot to the end.
  const std::vector<Duration>& durations() const { return durations_; }
  Duration last_node_change() const { return last_node_change_; }
  // Of any object.
  Duration last_change() const { return last_change_; }
  std::map<fleet::State, int> nodes_by_state() const;
  // How many nodes have entered the state, ever or since the last call of count_afresh().
  int reached(fleet::State state) const;
  void count_afresh() { reached_.clear(); }

 private:
  template <typename Kind, typename... More>
  Kind& add(std::string_view name, More... more);
  void on_change(const std::string& storage, const apiserver::Change& change);
  void take(const std::string& storage, const apiserver::Change& change);
  void on_node(const apiserver::Change& change, bool ours);
  void on_pod(const apiserver::Change& change, const apiserver::Origin& origin, bool ours);
  void note(const NodeStep& step);
  void accuse(std::string_view invariant, const std::string& what);

  Cluster& cluster_;
  Truth truth_;
  std::optional<Sight> sight_;
  uint64_t listener_;
  std::vector<std::unique_ptr<Invariant>> invariants_;
  NoAccident* accidents_ = nullptr;
  TrueReasons* reasons_ = nullptr;
  OneAnswer* answers_ = nullptr;
  std::vector<std::string> violations_;
  std::function<void()> on_first_;
  std::map<fleet::State, std::set<std::string>> reached_;
  std::map<fleet::State, int> by_state_;
  std::map<std::string, Time> began_;
  std::map<std::string, Time> returned_;
  std::vector<Duration> durations_;
  Duration last_node_change_{0};
  Duration last_change_{0};
};

}  // namespace lockstep::sim

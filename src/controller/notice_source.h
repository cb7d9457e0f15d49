// The events of a fleet's upgrade that users who do not watch must know: a rollout that changes its
// phase, a pool that is held, a node that failed, an upgrade that began or ended. Reads the watches
// of the upgrade controller, and only while it leads.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "fleet/state.h"
#include "notify/notifier.h"
#include "rollout/rollout_status.h"
#include "view/fleet_watch.h"
#include "world/loop.h"

namespace lockstep::controller {

class NoticeSource {
 public:
  NoticeSource(view::FleetWatch& watch, Loop& loop, notify::Notifier& notifier);
  NoticeSource(const NoticeSource&) = delete;
  NoticeSource& operator=(const NoticeSource&) = delete;

  // What is so already is not news, unless it is very recent: another replica led until a moment
  // ago and may not have reported it.
  void lead();
  void follow() { leading_ = false; }

 private:
  struct PoolLook {
    fleet::ReasonName held;  // empty: not held
    bool busy = false;

    bool operator==(const PoolLook&) const = default;
  };

  void look_at_node(const std::string& name);
  void look_at_rollouts();
  void look_at_pools();
  void look_soon();
  bool is_fresh(Time since) const;
  void tell_of_node(const Node& node, fleet::State before, fleet::State now);
  void tell_of_rollout(const view::KnownRollout& rollout);
  void tell_of_pool(const std::string& pool, const PoolLook& before, const PoolLook& now);

  view::FleetWatch& watch_;
  Loop& loop_;
  notify::Notifier& notifier_;
  bool leading_ = false;
  bool posted_ = false;
  std::map<std::string, fleet::State> states_;
  std::map<std::string, std::string> phases_;  // of rollouts: "Held NodesFailed"
  std::map<std::string, PoolLook> pools_;
  Scope scope_;
};

// A pool that is held until a user acts; nothing for what passes by itself.
std::optional<fleet::Reason> held_for_a_person(const view::FleetWatch& watch,
                                               const std::string& pool);

}  // namespace lockstep::controller

// From the watches of a fleet to what pages show. It updates changed nodes a little later and
// many at once, and the others from time to time, because the cause of a node's wait may be
// elsewhere.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "dashboard/fleet_model.h"
#include "dashboard/rollout_card.h"
#include "data/json.h"
#include "view/fleet_watch.h"
#include "world/loop.h"

namespace lockstep::dashboard {

struct FeedOptions {
  std::string zone_label = "topology.kubernetes.io/zone";
  std::string rack_label = "topology.kubernetes.io/rack";
  Duration delay = milliseconds(100);  // from a change to its update
  Duration interval = seconds(1);      // of the updates of everything else
  size_t nodes_a_turn = 1000;          // so that the loop turns
  size_t nodes_looked_after = 200;     // of those that did not change, an interval
  size_t most_attention = 40;          // nodes whose reasons are sent to every page
};

class FleetFeed {
 public:
  // `changed`: the model has something new. The owner of the watch starts it.
  FleetFeed(view::FleetWatch& watch, Loop& loop, FleetModel& model, std::function<void()> changed,
            FeedOptions options = {});
  FleetFeed(const FleetFeed&) = delete;
  FleetFeed& operator=(const FleetFeed&) = delete;

  // Whether a page is open: if not, only states are followed.
  void set_watched(bool watched) { watched_ = watched; }

 private:
  void touch(const std::string& node);
  void touch_all();
  void schedule(Duration delay);
  void work();
  void look_at(const std::string& node, Time now);
  NodeRow row_of(const fleet::NodeView& view, const fleet::Reason& reason) const;
  std::string wave_of(const fleet::NodeView& view) const;
  void tick();
  void look_after_others();
  void show_attention();
  void show_pools(Time now);
  void judge_bakes();
  void show_rollouts();
  void show_contact();
  void foresee_waves();
  std::map<std::string, std::string> foresee_waves(const view::KnownRollout& rollout) const;

  view::FleetWatch& watch_;
  Loop& loop_;
  FleetModel& model_;
  std::function<void()> changed_;
  FeedOptions options_;
  bool listed_ = false;
  bool began_ = false;  // every node was read once
  bool watched_ = true;
  bool scheduled_ = false;
  bool rollouts_changed_ = true;
  std::map<std::string, operate::WaveBakes> bakes_;  // by rollout
  std::set<std::string> touched_;
  std::string last_looked_after_;
  // Nodes in progress or failed, with their reasons in words.
  std::map<std::string, Json> attention_;
  std::map<std::string, std::string> targets_;  // by pool
  // Of waves that are not open yet: which nodes would be in them. By rollout, with what it was
  // found from.
  struct Foreseen {
    std::string from;
    std::map<std::string, std::string> waves;
  };
  std::map<std::string, Foreseen> foreseen_;
  Scope scope_;
};

}  // namespace lockstep::dashboard

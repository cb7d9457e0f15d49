// What must never happen in a bake: an event of a node that is not counted, a wave that passes
// although all its nodes had one, or a bake that is over before its time.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "rollout/rollout_status.h"
#include "sim/oracle/invariant.h"

namespace lockstep::sim {

// Every event of an upgraded node counts, whether or not it killed the work.
class EventsCount : public Invariant {
 public:
  using Invariant::Invariant;
  void on_node(const NodeStep& step) override;
  void on_change(const std::string& storage, const apiserver::Change& change, bool ours) override;

 private:
  struct Event {
    Duration at;
    int64_t count;
  };
  struct Reports {
    Duration first{0};
    int64_t last = 0;
    std::vector<Event> events;
  };
  // Of which the controller has to know since then.
  int64_t events_since(const std::string& node, Duration first) const;
  bool is_upgraded_since(const std::string& node, Duration first) const;
  void look_at_record(const std::string& name, const Json& map);
  void look_at_pass(const std::string& name, const rollout::WaveStatus& wave, size_t index);

  std::map<std::string, Reports> reports_;  // by node
  struct Bake {
    std::string began;
    Duration first{0};  // when it was first written down
  };
  std::map<std::string, Bake> bakes_;  // by the name of their ConfigMap
};

// A bake lasts as long as its spec says, whatever the controller's clock shows.
class BakeTakesItsTime : public Invariant {
 public:
  using Invariant::Invariant;
  void on_change(const std::string& storage, const apiserver::Change& change, bool ours) override;

 private:
  std::map<std::string, Duration> began_;  // by rollout
};

}  // namespace lockstep::sim

// A fleet and controllers of it, in virtual time.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "controller/upgrade_controller.h"
#include "view/fleet_test_util.h"

namespace lockstep::controller {

// The objects of the fleet's tests.
using namespace view;

class TestController : public TestApi {
 public:
  explicit TestController(TestFleet& fleet, std::string name = "one", uint64_t seed = 7)
      : TestApi(fleet, name), fleet_(fleet), random_(seed), name_(std::move(name)) {
    make();
  }
  void make() {
    UpgradeOptions options = base_options;
    options.instance = name_;
    controller = std::make_unique<UpgradeController>(api, fleet_.loop, random_, log, options);
    controller->start();
  }
  void lead() { controller->lead(); }
  // As a crash and a new process.
  void restart() {
    controller.reset();
    make();
    lead();
  }

  UpgradeOptions base_options;

 private:
  TestFleet& fleet_;
  SeededRandom random_;
  std::string name_;

 public:
  MemoryLog log;
  std::unique_ptr<UpgradeController> controller;
};

// A fleet and one controller of it.
struct UpgradeScene {
  explicit UpgradeScene(FleetSetup setup = {}) : fleet(setup), one(fleet) {}
  // All nodes are known and done before anything happens.
  void start() {
    one.lead();
    ASSERT_TRUE(fleet.run_until([&] { return fleet.all_are("upgrade-done"); }, minutes(1)));
  }
  void upgrade() { fleet.set_revision("r2", 2); }
  bool finish(Duration limit = hours(1)) {
    return fleet.run_until([&] { return fleet.upgraded(); }, limit);
  }
  std::map<std::string, int> events_of(const std::string& node) {
    std::map<std::string, int> events;
    for (const auto& event : fleet.list(resource::events)) {
      if (text_at(*event, "involvedObject", "name") != node) continue;
      EXPECT_EQ(text_at(*event, "reason"), "GPUDriverUpgrade");
      std::string line = fmt::format("{} {}", text_at(*event, "type"), text_at(*event, "message"));
      events[line] += static_cast<int>(as_integer(find(*event, "count"), 1));
    }
    return events;
  }

  TestFleet fleet;
  TestController one;
};

// Checks every change of a node and reports when it takes a pool beyond its limits.
class LimitWitness {
 public:
  LimitWitness(TestFleet& fleet, int64_t most_unavailable, int64_t most_active)
      : fleet_(fleet), most_unavailable_(most_unavailable), most_active_(most_active) {
    listener_ = fleet.backend.store.add_listener(
        [this](const std::string& storage, const apiserver::Change&) {
          if (storage == "nodes") look();
        });
  }
  ~LimitWitness() { fleet_.backend.store.remove_listener(listener_); }
  LimitWitness(const LimitWitness&) = delete;
  LimitWitness& operator=(const LimitWitness&) = delete;

  std::vector<std::string> violations;
  int64_t peak = 0;

 private:
  void look() {
    int64_t unavailable = 0;
    int64_t active = 0;
    std::string names;
    for (const auto& [key, node] : fleet_.backend.store.shelf("nodes").objects()) {
      const Json* labels = find(node->json(), "metadata", "labels");
      fleet::State state = fleet::state_of(as_text(find(*labels, fleet::Keys().state)));
      bool cordoned = as_bool(find(node->json(), "spec", "unschedulable"));
      if (cordoned || state == fleet::State::cordon) ++unavailable;
      if (!fleet::is_active(state)) continue;
      ++active;
      names += " " + key.name;
    }
    peak = std::max(peak, active);
    if (unavailable > most_unavailable_ || (most_active_ > 0 && active > most_active_)) {
      violations.push_back(fmt::format("{} unavailable, {} active:{}", unavailable, active, names));
    }
  }

  TestFleet& fleet_;
  int64_t most_unavailable_;
  int64_t most_active_;
  uint64_t listener_ = 0;
};

}  // namespace lockstep::controller

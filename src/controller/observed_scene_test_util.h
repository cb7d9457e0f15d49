// A fleet, its controller, and a process that has only the API, as `lockstep why` is.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "controller/controller_test_util.h"
#include "upgrade/decide.h"

namespace lockstep::controller {

inline const ObjectKey notes_key{"lockstep-system", std::string(view::notes_name)};
// Evictions are tried without a time limit.
inline constexpr std::string_view patient =
    R"({"autoUpgrade":true,"maxUnavailable":"100%","podDeletion":{"timeoutSeconds":0}})";

// A process that has only the API, beside the controller.
struct ObservedScene : UpgradeScene {
  explicit ObservedScene(FleetSetup setup) : UpgradeScene(std::move(setup)) {}

  fleet::Reason observed(const std::string& node) {
    apiserver::InProcessApi api(fleet.backend, {"observer", {}, "observer"});
    SilentLog log;
    SeededRandom random(5);
    view::FleetWatch watch(api, fleet.loop, random, log, {});
    watch.start();
    EXPECT_TRUE(fleet.run_until([&] { return watch.synced(); }, seconds(10)));
    watch.count_changed();
    return said_by(watch, node);
  }
  fleet::Reason said_by(const view::FleetWatch& watch, const std::string& node) const {
    auto view = watch.view(node);
    EXPECT_TRUE(view);
    if (!view) return {};
    return upgrade::decide(*view, watch.pool(view->pool), watch.rules(), fleet.loop.now()).reason;
  }
  fleet::Reason said(const std::string& node) { return said_by(one.controller->watch(), node); }
  bool says(const std::string& node, std::string_view reason) {
    const auto& reasons = one.controller->reasons();
    auto at = reasons.find(node);
    return at != reasons.end() && at->second.name == reason;
  }
  std::string published() {
    const Json map = fleet.must(kube::get(resource::config_maps, notes_key));
    return std::string(text_at(map, "data", "nodes"));
  }
  // A node whose eviction a budget refuses, without a time limit.
  void block(const std::string& node) {
    start();
    fleet.add_work("work-1", node);
    fleet.add_budget("work", 1);
    upgrade();
    ASSERT_TRUE(
        fleet.run_until([&] { return says(node, "BlockedByDisruptionBudget"); }, minutes(5)));
    fleet.loop.run_for(seconds(5));
  }
  void expect_one_answer(const std::string& node) {
    const fleet::Reason here = said(node);
    const fleet::Reason there = observed(node);
    EXPECT_EQ(there.name, here.name);
    EXPECT_EQ(there.remedy, here.remedy);
  }
};

}  // namespace lockstep::controller

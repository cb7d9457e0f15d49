// Whole upgrades of one node: every decision is carried out on the node in memory, and the pods do
// what a cluster would do.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "upgrade/slots.h"
#include "upgrade/upgrade_test_util.h"

namespace lockstep::upgrade {

class Walk {
 public:
  Scene scene;
  Names labels;        // the states that were entered, in order
  Names pods_removed;  // in order
  Names warnings;
  int writes = 0;
  // Makes the driver pod's successor.
  std::function<Pod(Pod)> next_driver = [](Pod pod) { return pod; };
  bool gives_slots = true;

  Walk() {
    scene.in(State::unknown);
    scene.node.meta.annotations = {};
    scene.driver = make_driver_pod("old");
    scene.add_client("dra/plugin", make_daemon_pod("plugin"));
    scene.validators = {make_daemon_pod("validator")};
    scene.pods = {gpu_pod(make_pod("train")), other_pod(make_pod("web"))};
  }

  // One decision, carried out. False: nothing was written.
  bool step() {
    scene.granted = gives_slots && may_start();
    Decision decision = scene.decide();
    last = decision;
    for (const auto& event : decision.events) {
      if (event.warning) warnings.push_back(event.message);
    }
    if (!decision.writes()) return false;
    ++writes;
    scene.now = scene.now + seconds(3);
    if (const NodePatch* patch = decision.patch()) {
      scene.apply(*patch);
      if (patch->to) labels.emplace_back(to_string(*patch->to));
      check_notes();
    }
    if (const PodRemovals* removals = decision.removals()) {
      for (const PodRemoval& removal : *removals) carry_out(*removal.pod);
    }
    return true;
  }

  // Until nothing is written any more.
  void run() {
    for (int i = 0; i < 30 && step(); ++i) {
    }
    EXPECT_FALSE(scene.decide().writes()) << "it writes for ever";
  }

  void run_until(State state) {
    for (int i = 0; i < 30 && scene.state() != state; ++i) ASSERT_TRUE(step());
    ASSERT_EQ(scene.state(), state);
  }

  Decision last;

 private:
  bool may_start() const {
    if (scene.state() == State::failed) return !holds_recovery(scene.view(), scene.pool());
    return scene.state() == State::required && !held_back(scene.view(), scene.pool(), scene.rules);
  }

  void carry_out(const Pod& pod) {
    std::string name = pod.meta.name.str();
    pods_removed.push_back(name);
    Time reborn = scene.now + seconds(1);
    if (scene.driver && scene.driver->meta.name == pod.meta.name) {
      scene.driver = next_driver(make_driver_pod(scene.newest, reborn));
      scene.driver->meta.uid = Text(fmt::format("uid-{}-{}", scene.newest.view(), writes));
      scene.driver->ready_since = reborn + seconds(1);
      scene.now = scene.now + seconds(5);
    } else if (name == "plugin") {
      scene.clients[0].pod = share(make_daemon_pod("plugin", reborn + seconds(10)));
    } else if (name == "validator") {
      scene.validators = {make_daemon_pod("validator", reborn + seconds(10))};
    } else {
      std::erase_if(scene.pods, [&](const auto& entry) { return entry.pod->meta.name == name; });
    }
  }

  // What must hold after every patch of the node.
  void check_notes() const {
    State state = scene.state();
    EXPECT_EQ(scene.has(scene.rules.keys.wait_start), state == State::wait_for_jobs);
    EXPECT_EQ(scene.has(scene.rules.keys.validation_start), state == State::validation);
    EXPECT_TRUE(scene.has(fleet::since_annotation));
    if (fleet::is_active(state) && state != State::cordon && state != State::uncordon) {
      EXPECT_TRUE(scene.node.unschedulable) << to_string(state);
      EXPECT_NE(fleet::is_cordoned_by_us(scene.node),
                scene.has(scene.rules.keys.initially_unschedulable));
    }
    if (state == State::done) {
      EXPECT_FALSE(scene.has(fleet::cordon_annotation));
      EXPECT_FALSE(scene.has(fleet::unvalidated_annotation));
      EXPECT_FALSE(scene.has(scene.rules.keys.initially_unschedulable));
      EXPECT_FALSE(scene.has(scene.rules.keys.requested));
      EXPECT_FALSE(scene.has(fleet::failure_annotation));
      EXPECT_FALSE(scene.has(fleet::failed_revision_annotation));
    }
    if (state != State::required && state != State::unknown) {
      EXPECT_EQ(scene.has(fleet::failure_annotation), state == State::failed);
    }
  }
};

inline const Names whole_way = {"upgrade-required",       "cordon-required",
                                "wait-for-jobs-required", "pod-deletion-required",
                                "pod-restart-required",   "validation-required",
                                "uncordon-required",      "upgrade-done"};

}  // namespace lockstep::upgrade

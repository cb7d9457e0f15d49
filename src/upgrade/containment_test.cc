// A driver pod that came up with a revision that no open wave allows its node.
#include <gtest/gtest.h>

#include "upgrade/deciding.h"
#include "upgrade/slots.h"
#include "upgrade/upgrade_test_util.h"

namespace lockstep::upgrade::containment_test {
namespace {

struct OutsideScene : Scene {
  bool outside = true;

  fleet::NodeView view() const {
    fleet::NodeView view = Scene::view();
    if (!outside) return view;
    view.outside_wave =
        fleet::Reason{fleet::Reason::upgraded_outside_wave, "came up with new", "accept it"};
    view.held_by_rollout = fleet::Reason{fleet::Reason::wave_not_open, "wave rest is not open", ""};
    return view;
  }
  Decision decide() const { return upgrade::decide(view(), pool(), rules, now); }
  void apply_decision() { apply(*decide().patch()); }
};

TEST(Containment, TheNodeIsCordonedAtOnceWithAWarning) {
  for (State state : {State::unknown, State::done, State::required, State::cordon,
                      State::wait_for_jobs, State::pod_deletion, State::drain}) {
    OutsideScene scene;
    scene.in(state);
    Decision decision = scene.decide();
    ASSERT_NE(decision.patch(), nullptr) << to_string(state);
    EXPECT_EQ(decision.reason.name, "UpgradedOutsideWave");
    EXPECT_TRUE(warns(decision));
    EXPECT_NE(decision.freshness, Freshness::as_shown)
        << "a node in service is not cordoned on hearsay";
    scene.apply(*decision.patch());
    EXPECT_EQ(scene.state(), State::required);
    EXPECT_TRUE(scene.node.unschedulable);
    EXPECT_TRUE(fleet::is_cordoned_by_us(scene.node));
    EXPECT_TRUE(fleet::is_unvalidated(scene.node));
    decision = scene.decide();
    EXPECT_FALSE(decision.writes()) << to_string(state);
    EXPECT_EQ(decision.reason.name, "UpgradedOutsideWave");
  }
}

TEST(Containment, ADriverThatIsNotReadyYetIsContainedToo) {
  OutsideScene scene;
  scene.driver = not_ready(make_driver_pod("new"));
  EXPECT_EQ(entered(scene.decide()), State::required);
}

TEST(Containment, ItIsNoChangeThatWasTakenBack) {
  OutsideScene scene;
  scene.in(State::required);
  scene.apply_decision();
  EXPECT_EQ(scene.decide().reason.name, "UpgradedOutsideWave");
}

TEST(Containment, AUserWhoUncordonsTheNodeIsWarned) {
  OutsideScene scene;
  scene.in(State::done);
  scene.apply_decision();
  scene.node.unschedulable = false;
  Decision decision = scene.decide();
  ASSERT_NE(decision.patch(), nullptr);
  EXPECT_EQ(decision.patch()->unschedulable, true);
  EXPECT_TRUE(warns(decision));
}

TEST(Containment, AUsersCordonStaysTheirs) {
  OutsideScene scene;
  scene.in(State::done);
  scene.node.unschedulable = true;
  scene.apply_decision();
  EXPECT_TRUE(fleet::was_cordoned_by_others(scene.node, scene.rules.keys));
}

TEST(Containment, ItsClientsAreRestartedWhileItWaits) {
  OutsideScene scene;
  scene.in(State::done);
  scene.apply_decision();
  scene.driver = make_driver_pod("new", scene.now - minutes(5));
  scene.add_client("nvidia-dra-driver/plugin", make_daemon_pod("plugin", scene.now - hours(1)));
  Decision decision = scene.decide();
  EXPECT_EQ(decision.reason.name, "RestartsClients");
  EXPECT_EQ(removed(decision), Names{"delete plugin"});
  scene.clients.clear();
  scene.add_client("nvidia-dra-driver/plugin", make_daemon_pod("plugin", scene.now - minutes(4)));
  EXPECT_FALSE(scene.decide().writes());
}

TEST(Containment, WhenItsWaveOpensItIsValidatedAndNobodyIsMoved) {
  OutsideScene scene;
  scene.in(State::done);
  scene.apply_decision();
  EXPECT_FALSE(is_startable(scene.view(), scene.policy, scene.rules));
  scene.outside = false;
  EXPECT_TRUE(is_startable(scene.view(), scene.policy, scene.rules));
  EXPECT_FALSE(entered(scene.decide())) << "not without a slot";
  scene.granted = true;
  Decision decision = scene.decide();
  EXPECT_EQ(decision.reason.name, "Resumed");
  scene.apply(*decision.patch());
  scene.apply_decision();
  EXPECT_EQ(scene.state(), State::validation);
  scene.validators = {make_daemon_pod("validator", scene.now)};
  scene.apply_decision();
  EXPECT_EQ(scene.state(), State::uncordon);
  scene.apply_decision();
  EXPECT_EQ(scene.state(), State::done);
  EXPECT_FALSE(scene.node.unschedulable);
}

TEST(Containment, ANodeThatWasInServiceWithThisPodIsNot) {
  OutsideScene scene;
  scene.outside = false;
  scene.apply_decision();
  ASSERT_EQ(scene.state(), State::done);
  scene.outside = true;
  EXPECT_FALSE(scene.decide().writes()) << "as seen by a leader that does not know of its wave";
  Pod another = make_driver_pod("new");
  another.meta.uid = "uid-another";
  scene.driver = another;
  EXPECT_EQ(entered(scene.decide()), State::required);
}

TEST(Containment, ANodeInFlightThatWentOnToANewerRevisionStaysOutOfService) {
  OutsideScene scene;
  scene.in(State::validation);
  scene.validators = {make_daemon_pod("validator", scene.now)};
  scene.apply_decision();
  EXPECT_EQ(scene.state(), State::required);
  EXPECT_TRUE(scene.node.unschedulable);
}

TEST(Containment, ASlotIsGivenBack) {
  OutsideScene scene;
  scene.in(State::done);
  scene.apply_decision();
  scene.granted = true;
  EXPECT_TRUE(scene.decide().writes());
  EXPECT_FALSE(entered(scene.decide()));
}

}  // namespace
}  // namespace lockstep::upgrade::containment_test

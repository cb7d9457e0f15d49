#include "upgrade/slots.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "upgrade/upgrade_test_util.h"

namespace lockstep::upgrade::slots_test {
namespace {

Scene waiting() {
  Scene scene;
  scene.driver = make_driver_pod("old");
  scene.in(State::required);
  scene.counts.total = 8;
  return scene;
}

std::string held(const Scene& scene) {
  auto reason = held_back(scene.view(), scene.pool(), scene.rules);
  return reason ? reason->name.str() : "";
}

// As the controller counts a node.
fleet::NodeFacts facts(int gpu_pods = 0) {
  fleet::NodeFacts facts;
  facts.state = State::required;
  facts.startable = true;
  facts.gpu_pods = gpu_pods;
  return facts;
}

fleet::Tally tally_of(int nodes) {
  fleet::Tally tally;
  for (int i = 1; i <= nodes; ++i) tally.update("gpu-" + std::to_string(i), facts());
  return tally;
}

Policy policy_of(IntOrPercent unavailable, int64_t parallel) {
  Policy policy = read_policy(nullptr, "ClusterPolicy test");
  policy.max_unavailable = unavailable;
  policy.max_parallel = parallel;
  return policy;
}

TEST(Limits, PercentOfTheTotalIsRoundedUp) {
  Policy policy = policy_of(IntOrPercent::percentage(25), 1);
  for (auto [total, limit] : {std::pair{0, 0}, {1, 1}, {4, 1}, {5, 2}, {100, 25}, {101, 26}}) {
    EXPECT_EQ(limits_of(policy, total).unavailable, limit) << total;
  }
  EXPECT_EQ(limits_of(policy_of(IntOrPercent::count(7), 1), 2).unavailable, 7);
}

TEST(Limits, FailuresAreAtLeastOne) {
  Policy policy = read_policy(nullptr, "x");
  for (auto [total, limit] : {std::pair{0, 1}, {5, 1}, {10, 1}, {11, 2}, {100, 10}}) {
    EXPECT_EQ(limits_of(policy, total).failures, limit) << total;
  }
  policy.max_failures = IntOrPercent::count(0);
  EXPECT_EQ(limits_of(policy, 10).failures, 1);
}

TEST(HeldBack, NamesTheFirstRuleThatDoesNotHold) {
  Scene scene = waiting();
  scene.counts.unavailable = 2;
  EXPECT_EQ(held(scene), "UnavailableLimit");
  scene.counts.active = 1;
  EXPECT_EQ(held(scene), "ParallelLimit");
  scene.counts.failed = 1;
  EXPECT_EQ(held(scene), "FailureBudget");
  scene.node.conditions[0].status = "False";
  EXPECT_EQ(held(scene), "NodeNotReady");
  scene.label(scene.rules.keys.skip, "true");
  EXPECT_EQ(held(scene), "Skipped");
  scene.policy.paused = "";
  EXPECT_EQ(held(scene), "Paused");
  scene.policy.problems = {"maxUnavailable must be a number"};
  EXPECT_EQ(held(scene), "InvalidPolicy");
  scene.policy.auto_upgrade = false;
  EXPECT_EQ(held(scene), "AutoUpgradeOff");
}

TEST(HeldBack, NobodyWhenEveryRuleHolds) {
  Scene scene = waiting();
  scene.counts.unavailable = 1;
  EXPECT_EQ(held(scene), "");
  EXPECT_TRUE(is_startable(scene.view(), scene.policy, scene.rules));
}

TEST(HeldBack, SaysTheNumbers) {
  Scene scene = waiting();
  scene.counts.unavailable = 2;
  auto reason = held_back(scene.view(), scene.pool(), scene.rules);
  EXPECT_EQ(reason->text,
            "2 of 8 nodes are unavailable (cordoned or not Ready) and maxUnavailable is 2 (25%)");
}

TEST(HeldBack, ParallelZeroIsNoLimit) {
  Scene scene = waiting();
  scene.policy.max_parallel = 0;
  scene.counts.active = 5000;
  EXPECT_EQ(held(scene), "");
}

TEST(HeldBack, AnInvalidPolicyStartsNothingAndLetsGoOnWhatIsInFlight) {
  Scene scene = waiting();
  scene.policy.problems = {"maxUnavailable must be a number"};
  EXPECT_EQ(held(scene), "InvalidPolicy");
  EXPECT_TRUE(choose_starts(tally_of(3), "", scene.policy).empty());
  scene.in(State::cordon);
  EXPECT_EQ(entered(scene.decide()), State::wait_for_jobs);
}

TEST(HeldBack, APauseStartsNothingAndLetsGoOnWhatIsInFlight) {
  Scene scene = waiting();
  scene.policy.paused = "ann: looking";
  EXPECT_EQ(held(scene), "Paused");
  EXPECT_TRUE(choose_starts(tally_of(3), "", scene.policy).empty());
  scene.in(State::cordon);
  EXPECT_EQ(entered(scene.decide()), State::wait_for_jobs);
}

TEST(HeldBack, ANodeWithoutADriverPodWaitsForIt) {
  Scene scene = waiting();
  scene.driver.reset();
  EXPECT_EQ(held(scene), "DriverPodMissing");
  EXPECT_FALSE(is_startable(scene.view(), scene.policy, scene.rules));
}

TEST(CordonedNodes, WaitLikeTheOthersByDefault) {
  Scene scene = waiting();
  scene.node.unschedulable = true;
  scene.counts.unavailable = 1;
  EXPECT_EQ(held(scene), "");
  scene.counts.unavailable = 2;
  EXPECT_EQ(held(scene), "UnavailableLimit");
}

TEST(CordonedNodes, ThatAreToBeUpgradedAreHeldOnlyByTheParallelLimit) {
  Scene scene = waiting();
  scene.policy.cordoned_nodes = CordonedNodes::upgrade;
  scene.node.unschedulable = true;
  scene.counts.unavailable = 8;
  EXPECT_EQ(held(scene), "");
  scene.counts.active = 1;
  EXPECT_EQ(held(scene), "ParallelLimit");
}

TEST(CordonedNodes, ThatAreIgnoredWaitUntilSomebodyUncordonsThem) {
  Scene scene = waiting();
  scene.policy.cordoned_nodes = CordonedNodes::ignore;
  scene.node.unschedulable = true;
  EXPECT_EQ(held(scene), "CordonedIgnored");
  EXPECT_FALSE(is_startable(scene.view(), scene.policy, scene.rules));
  scene.node.unschedulable = false;
  EXPECT_EQ(held(scene), "");
}

TEST(CordonedNodes, OneThatWasUncordonedWhileItWaitedCostsAvailabilityAgain) {
  Scene scene = waiting();
  scene.policy.cordoned_nodes = CordonedNodes::upgrade;
  scene.annotate(scene.rules.keys.initially_unschedulable, "true");
  scene.counts.unavailable = 2;
  EXPECT_EQ(held(scene), "UnavailableLimit");
}

// It is unavailable itself: with maxUnavailable 1 it would wait for itself, and all with it.
TEST(CordonedNodes, OneThatIsStillCordonedFromAFailedTryDoesNotWaitForItself) {
  for (CordonedNodes mode : {CordonedNodes::wait, CordonedNodes::upgrade, CordonedNodes::ignore}) {
    Scene scene = waiting();
    scene.policy.cordoned_nodes = mode;
    scene.fail_with("ProtectedPods: x");
    scene.label(scene.rules.keys.state, "upgrade-required");
    scene.counts.unavailable = 2;
    EXPECT_EQ(held(scene), "");
    fleet::Tally tally;
    fleet::NodeFacts retry = facts();
    retry.unschedulable = true;
    tally.update("a", retry);
    scene.policy.max_unavailable = IntOrPercent::count(1);
    EXPECT_EQ(choose_starts(tally, "", scene.policy), (Names{"a"}));
  }
}

TEST(Startable, IsOnlyANodeThatWaitsAndStillNeedsIt) {
  Scene scene = waiting();
  EXPECT_TRUE(is_startable(scene.view(), scene.policy, scene.rules));
  scene.driver = make_driver_pod("new");
  EXPECT_FALSE(is_startable(scene.view(), scene.policy, scene.rules)) << "taken back";
  for (State state : fleet::all_states) {
    if (state == State::required) continue;
    Scene other = waiting().in(state);
    EXPECT_FALSE(is_startable(other.view(), other.policy, other.rules)) << to_string(state);
  }
}

TEST(ChooseStarts, CountsEveryStartAgainstTheNext) {
  EXPECT_EQ(choose_starts(tally_of(12), "", policy_of(IntOrPercent::percentage(25), 0)),
            (Names{"gpu-1", "gpu-2", "gpu-3"}));
  EXPECT_EQ(choose_starts(tally_of(12), "", policy_of(IntOrPercent::percentage(25), 2)),
            (Names{"gpu-1", "gpu-2"}));
  EXPECT_TRUE(choose_starts(tally_of(12), "other", policy_of(IntOrPercent::count(9), 0)).empty());
}

TEST(ChooseStarts, CountsReservedNodesWhoseLabelIsOnItsWay) {
  fleet::Tally tally = tally_of(12);
  tally.reserve("gpu-5");
  EXPECT_EQ(choose_starts(tally, "", policy_of(IntOrPercent::count(2), 0)), (Names{"gpu-1"}));
  EXPECT_TRUE(choose_starts(tally, "", policy_of(IntOrPercent::count(9), 1)).empty());
}

// Given under other limits, and not used yet.
TEST(HoldsSlot, AsManyAreUsedAsTheLimitsAllow) {
  fleet::Tally tally = tally_of(8);
  for (const char* node : {"gpu-2", "gpu-3", "gpu-4"}) tally.reserve(node);
  auto held_of = [&](const char* node, const Policy& policy) {
    auto reason = holds_slot(tally, "", node, policy);
    return reason ? reason->name.str() : "";
  };
  Policy wide = policy_of(IntOrPercent::count(3), 3);
  for (const char* node : {"gpu-2", "gpu-3", "gpu-4"}) EXPECT_EQ(held_of(node, wide), "");
  Policy one = policy_of(IntOrPercent::count(3), 1);
  EXPECT_EQ(held_of("gpu-2", one), "");
  EXPECT_EQ(held_of("gpu-3", one), "ParallelLimit");
  EXPECT_EQ(held_of("gpu-4", one), "ParallelLimit");
  Policy two_away = policy_of(IntOrPercent::count(2), 0);
  EXPECT_EQ(held_of("gpu-3", two_away), "");
  EXPECT_EQ(held_of("gpu-4", two_away), "UnavailableLimit");
  EXPECT_EQ(held_of("gpu-5", one), "") << "it has none";
  // One of them has begun.
  fleet::NodeFacts begun = facts();
  begun.state = State::cordon;
  begun.startable = false;
  tally.update("gpu-2", begun);
  tally.release("gpu-2");
  EXPECT_EQ(held_of("gpu-3", one), "ParallelLimit");
}

// It may be the one that failed that waits for the slot.
TEST(HoldsSlot, FailuresOfOthersDoNotHoldIt) {
  fleet::Tally tally = tally_of(4);
  fleet::NodeFacts failed = facts();
  failed.state = State::failed;
  tally.update("gpu-1", failed);
  tally.reserve("gpu-2");
  Policy policy = policy_of(IntOrPercent::count(4), 1);
  policy.max_failures = IntOrPercent::count(1);
  EXPECT_FALSE(holds_slot(tally, "", "gpu-2", policy));
}

// One after the other by name, as slots are defined: each that fits counts against the next.
std::set<std::string> slots_that_fit(const std::map<std::string, fleet::NodeFacts>& nodes,
                                     const std::set<std::string>& slots, const Policy& policy) {
  const Limits limits = limits_of(policy, static_cast<int64_t>(nodes.size()));
  int64_t active = 0;
  int64_t away = 0;
  for (const auto& [name, node] : nodes) {
    bool works = fleet::is_active(node.state);
    active += works ? 1 : 0;
    bool leaves = works && node.state != State::uncordon;
    bool begun = works && slots.contains(name);
    away += node.unschedulable || !node.ready || leaves || begun ? 1 : 0;
  }
  std::set<std::string> fitting;
  for (const std::string& name : slots) {
    const fleet::NodeFacts& node = nodes.at(name);
    if (fleet::is_active(node.state)) continue;
    bool is_free = node.unschedulable && (node.state == State::failed || !node.cordoned_by_others ||
                                          policy.cordoned_nodes == CordonedNodes::upgrade);
    if (limits.parallel > 0 && active >= limits.parallel) continue;
    if (!is_free && away >= limits.unavailable) continue;
    fitting.insert(name);
    ++active;
    if (!node.unschedulable) ++away;
  }
  return fitting;
}

RC_GTEST_PROP(HoldsSlot, IsAsIfSlotsWereUsedOneAfterTheOther, ()) {
  fleet::Tally tally;
  std::map<std::string, fleet::NodeFacts> nodes;
  std::set<std::string> slots;
  const int count = *rc::gen::inRange(1, 12);
  for (int i = 0; i < count; ++i) {
    fleet::NodeFacts node = facts();
    node.state = *rc::gen::element(State::required, State::required, State::failed, State::cordon,
                                   State::uncordon, State::done);
    node.unschedulable = *rc::gen::arbitrary<bool>();
    node.cordoned_by_others = *rc::gen::arbitrary<bool>();
    node.ready = *rc::gen::weightedElement<bool>({{3, true}, {1, false}});
    const std::string name = "gpu-" + std::to_string(i);
    nodes[name] = node;
    tally.update(name, node);
    if (*rc::gen::arbitrary<bool>()) {
      slots.insert(name);
      tally.reserve(name);
    }
  }
  Policy policy = policy_of(IntOrPercent::count(*rc::gen::inRange(0, 12)), *rc::gen::inRange(0, 8));
  policy.cordoned_nodes = *rc::gen::element(CordonedNodes::upgrade, CordonedNodes::wait);
  const std::set<std::string> fitting = slots_that_fit(nodes, slots, policy);
  for (const std::string& name : slots) {
    if (fleet::is_active(nodes.at(name).state)) continue;
    RC_ASSERT(holds_slot(tally, "", name, policy).has_value() == !fitting.contains(name));
  }
}

TEST(ChooseStarts, TakesFewestGpuPodsFirstThenNaturalOrder) {
  fleet::Tally tally;
  for (auto [name, gpu_pods] : {std::pair{"n10", 1}, {"n9", 1}, {"n1", 3}, {"z", 0}}) {
    tally.update(name, facts(gpu_pods));
  }
  EXPECT_EQ(choose_starts(tally, "", policy_of(IntOrPercent::count(9), 0)),
            (Names{"z", "n9", "n10", "n1"}));
}

TEST(ChooseStarts, StopsAtTheFailureBudget) {
  fleet::Tally tally = tally_of(9);
  fleet::NodeFacts failed;
  failed.state = State::failed;
  tally.update("gpu-99", failed);
  EXPECT_TRUE(choose_starts(tally, "", policy_of(IntOrPercent::count(5), 0)).empty());
}

TEST(UsersRetry, IsNotHeldByTheFailureBudget) {
  Scene scene;
  scene.driver = make_driver_pod("old");
  scene.fail_with("DriverImageUnavailable: x");
  scene.label(scene.rules.keys.state, "upgrade-required");
  scene.counts.failed = 1;
  EXPECT_TRUE(is_users_retry(scene.view()));
  EXPECT_EQ(scene.decide().reason.name, "NextInLine");
  scene.counts.active = 1;
  EXPECT_EQ(scene.decide().reason.name, "ParallelLimit") << "other limits apply";
  scene.counts.active = 0;
  // A newer revision put it into the queue: its failure is not repaired.
  scene.annotate(fleet::failed_revision_annotation, "older");
  EXPECT_FALSE(is_users_retry(scene.view()));
  EXPECT_EQ(scene.decide().reason.name, "FailureBudget");
  scene.note(fleet::failure_annotation, "");
  scene.note(fleet::failed_revision_annotation, "");
  EXPECT_FALSE(is_users_retry(scene.view()));
}

TEST(UsersRetry, GetsASlotWhereOthersGetNone) {
  fleet::Tally tally = tally_of(4);
  for (const char* name : {"gpu-90", "gpu-91"}) {
    fleet::NodeFacts failed;
    failed.state = State::failed;
    failed.unschedulable = true;
    tally.update(name, failed);
  }
  for (bool cordoned : {false, true}) {
    fleet::NodeFacts retried = facts(3);
    retried.retry = true;
    retried.unschedulable = cordoned;
    tally.update(cordoned ? "gpu-80" : "gpu-81", retried);
  }
  EXPECT_EQ(choose_starts(tally, "", policy_of(IntOrPercent::count(9), 0)),
            (Names{"gpu-80", "gpu-81"}));
  EXPECT_EQ(choose_starts(tally, "", policy_of(IntOrPercent::count(9), 1)), Names{"gpu-80"});
}

TEST(ChooseStarts, LetsACordonedNodeGoWhereOneInServiceMayNot) {
  fleet::Tally tally = tally_of(2);
  fleet::NodeFacts cordoned = facts(7);
  cordoned.unschedulable = true;
  cordoned.cordoned_by_others = true;
  tally.update("cordoned", cordoned);
  Policy policy = policy_of(IntOrPercent::count(1), 0);
  EXPECT_TRUE(choose_starts(tally, "", policy).empty());
  policy.cordoned_nodes = CordonedNodes::upgrade;
  EXPECT_EQ(choose_starts(tally, "", policy), (Names{"cordoned"}));
  policy.cordoned_nodes = CordonedNodes::ignore;
  EXPECT_TRUE(choose_starts(tally, "", policy).empty());
}

TEST(HeldBack, OfAPoolTellsCordonedNodesFromOthers) {
  Scene scene = waiting();
  scene.policy.cordoned_nodes = CordonedNodes::upgrade;
  PoolView pool = scene.pool();
  pool.counts.unavailable = 2;
  ASSERT_TRUE(held_back(pool, false).has_value());
  EXPECT_EQ(held_back(pool, false)->name, "UnavailableLimit");
  EXPECT_FALSE(held_back(pool, true).has_value());
}

fleet::NodeFacts recovering(bool cordoned) {
  fleet::NodeFacts node = facts();
  node.state = State::failed;
  node.unschedulable = cordoned;
  return node;
}

TEST(ChooseStarts, ANodeThatRecoversTakesASlotBeforeOthersAndWhateverHasFailed) {
  fleet::Tally tally = tally_of(3);
  tally.update("gpu-9", recovering(true));
  Policy policy = policy_of(IntOrPercent::percentage(100), 1);
  EXPECT_EQ(choose_starts(tally, "", policy), (Names{"gpu-9"})) << "one failure is the budget";
  fleet::NodeFacts busy = facts();
  busy.state = State::validation;
  tally.update("gpu-1", busy);
  EXPECT_TRUE(choose_starts(tally, "", policy).empty()) << "maxParallelUpgrades is 1";
}

TEST(ChooseStarts, ANodeThatRecoversCostsServiceOnlyIfItIsInService) {
  fleet::Tally tally = tally_of(3);
  fleet::NodeFacts away = facts();
  away.state = State::done;
  away.unschedulable = true;
  tally.update("gpu-1", away);
  tally.update("gpu-8", recovering(false));
  Policy policy = policy_of(IntOrPercent::count(1), 0);
  EXPECT_TRUE(choose_starts(tally, "", policy).empty());
  tally.update("gpu-8", recovering(true));
  EXPECT_EQ(choose_starts(tally, "", policy), (Names{"gpu-8"}));
}

TEST(Startable, AFailedNodeIsOnceItsDriverIsReadyAndItMayRecover) {
  Scene scene;
  scene.fail_with("DriverStartTimeout: x");
  EXPECT_TRUE(is_startable(scene.view(), scene.policy, scene.rules));
  scene.driver = not_ready(*scene.driver);
  EXPECT_FALSE(is_startable(scene.view(), scene.policy, scene.rules));
  scene.driver = make_driver_pod("new");
  scene.fail_with("ValidatorNotReady: x");
  EXPECT_FALSE(is_startable(scene.view(), scene.policy, scene.rules)) << "sticky";
}

}  // namespace
}  // namespace lockstep::upgrade::slots_test

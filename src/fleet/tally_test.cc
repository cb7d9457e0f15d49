#include "fleet/tally.h"

#include <algorithm>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/strings.h"

namespace lockstep::fleet::tally_test {
namespace {

NodeFacts facts_in(State state, bool unschedulable = false) {
  NodeFacts facts;
  facts.state = state;
  facts.unschedulable = unschedulable;
  return facts;
}

TEST(Tally, ANodeIsUnavailableWhenItIsCordonedOrNotReadyAndCountsOnce) {
  Tally tally;
  tally.update("in-service", facts_in(State::done));
  EXPECT_EQ(tally.counts("").unavailable, 0);
  NodeFacts both = facts_in(State::done, true);
  both.ready = false;
  tally.update("both", both);
  EXPECT_EQ(tally.counts("").unavailable, 1);
  NodeFacts lost = facts_in(State::done);
  lost.ready = false;
  tally.update("lost", lost);
  EXPECT_EQ(tally.counts("").unavailable, 2);
  EXPECT_EQ(tally.counts("").total, 3);
}

TEST(Tally, ANodeInCordonRequiredIsUnavailableBeforeItIsCordoned) {
  Tally tally;
  tally.update("a", facts_in(State::cordon, false));
  EXPECT_EQ(tally.counts("").unavailable, 1);
  tally.update("a", facts_in(State::cordon, true));
  EXPECT_EQ(tally.counts("").unavailable, 1);
}

// Its cordon comes back: another that took its place would be one too many.
TEST(Tally, ANodeThatSomebodyUncordonedInTheMiddleOfItsUpgradeIsUnavailableAllTheSame) {
  Tally tally;
  for (State state : {State::wait_for_jobs, State::pod_deletion, State::drain, State::pod_restart,
                      State::validation}) {
    tally.update("a", facts_in(state, false));
    EXPECT_EQ(tally.counts("").unavailable, 1) << to_string(state);
  }
  tally.update("a", facts_in(State::uncordon, false));
  EXPECT_EQ(tally.counts("").unavailable, 0);
}

TEST(Tally, AFailedNodeThatMayTakeASlotStandsInALineOfItsOwn) {
  Tally tally;
  NodeFacts facts = facts_in(State::failed, true);
  tally.update("a", facts);
  EXPECT_TRUE(tally.recovering("").empty());
  facts.startable = true;
  tally.update("a", facts);
  EXPECT_EQ(tally.recovering("").size(), 1U);
  facts.unschedulable = false;
  tally.update("a", facts);
  EXPECT_TRUE(tally.recovering("").empty());
  EXPECT_EQ(tally.recovering_in_service("").size(), 1U);
  tally.reserve("a");
  EXPECT_TRUE(tally.recovering_in_service("").empty());
  EXPECT_EQ(tally.counts("").active, 1);
  EXPECT_TRUE(tally.startable("").empty());
  EXPECT_TRUE(tally.recovering("another pool").empty());
}

TEST(Tally, AFailedNodeIsNotActive) {
  Tally tally;
  tally.update("a", facts_in(State::failed, true));
  EXPECT_EQ(tally.counts("").active, 0);
  EXPECT_EQ(tally.counts("").failed, 1);
  EXPECT_EQ(tally.counts("").unavailable, 1);
}

TEST(Tally, AReservedNodeCountsAsActiveAndUnavailableOnceWhateverItsLabelSays) {
  Tally tally;
  NodeFacts waiting = facts_in(State::required);
  waiting.startable = true;
  tally.update("a", waiting);
  tally.reserve("a");
  tally.reserve("a");
  EXPECT_TRUE(tally.is_reserved("a"));
  EXPECT_EQ(tally.counts("").active, 1);
  EXPECT_EQ(tally.counts("").unavailable, 1);
  EXPECT_TRUE(tally.startable("").empty()) << "it has its slot";
  tally.update("a", facts_in(State::cordon));
  EXPECT_EQ(tally.counts("").active, 1);
  EXPECT_EQ(tally.counts("").unavailable, 1);
  tally.release("a");
  tally.release("a");
  EXPECT_EQ(tally.counts("").active, 1);
}

TEST(Tally, AReservationMayComeBeforeTheNode) {
  Tally tally;
  tally.reserve("a");
  EXPECT_EQ(tally.counts("").active, 0);
  tally.update("a", facts_in(State::required));
  EXPECT_EQ(tally.counts("").active, 1);
  tally.remove("a");
  EXPECT_EQ(tally.counts(""), PoolCounts{});
}

TEST(Tally, TheLineGoesByFewestGpuPodsThenNaturalOrderOfNames) {
  Tally tally;
  for (auto [name, gpu_pods] : {std::pair{"gpu-10", 0}, {"gpu-9", 0}, {"gpu-1", 2}, {"gpu-2", 1}}) {
    NodeFacts facts = facts_in(State::required);
    facts.startable = true;
    facts.gpu_pods = gpu_pods;
    tally.update(name, facts);
  }
  std::vector<std::string> order;
  for (const Waiting& waiting : tally.startable("")) order.push_back(waiting.name);
  EXPECT_EQ(order, (std::vector<std::string>{"gpu-9", "gpu-10", "gpu-2", "gpu-1"}));
}

TEST(Tally, CordonedNodesWaitInLinesOfTheirOwn) {
  Tally tally;
  NodeFacts facts = facts_in(State::required, true);
  facts.startable = true;
  tally.update("still-cordoned-by-us", facts);
  facts.cordoned_by_others = true;
  tally.update("cordoned-by-a-person", facts);
  facts.unschedulable = false;
  tally.update("uncordoned-since", facts);
  ASSERT_EQ(tally.startable("").size(), 1U);
  EXPECT_EQ(tally.startable("").begin()->name, "uncordoned-since");
  ASSERT_EQ(tally.startable_cordoned("").size(), 1U);
  EXPECT_EQ(tally.startable_cordoned("").begin()->name, "cordoned-by-a-person");
  ASSERT_EQ(tally.startable_again("").size(), 1U);
  EXPECT_EQ(tally.startable_again("").begin()->name, "still-cordoned-by-us");
}

TEST(Tally, SaysWhetherSomethingChanged) {
  Tally tally;
  EXPECT_TRUE(tally.update("a", facts_in(State::done)));
  EXPECT_FALSE(tally.update("a", facts_in(State::done)));
  EXPECT_TRUE(tally.update("a", facts_in(State::required)));
  EXPECT_TRUE(tally.remove("a"));
  EXPECT_FALSE(tally.remove("a"));
  EXPECT_EQ(tally.facts("a"), nullptr);
}

TEST(Tally, PoolsAreThoseThatHaveANode) {
  Tally tally;
  NodeFacts facts;
  for (const char* pool : {"b", "a"}) {
    facts.pool = pool;
    tally.update(pool, facts);
  }
  EXPECT_EQ(tally.pools(), (std::vector<std::string>{"a", "b"}));
  facts.pool = "c";
  tally.update("a", facts);
  EXPECT_EQ(tally.pools(), (std::vector<std::string>{"b", "c"}));
  EXPECT_EQ(tally.counts("nobody's"), PoolCounts{});
  EXPECT_TRUE(tally.startable_cordoned("nobody's").empty());
  EXPECT_TRUE(tally.startable_again("nobody's").empty());
}

// The same numbers, counted again by the rules of the specification.
struct Recount {
  PoolCounts counts;
  std::vector<std::string> in_service;
  std::vector<std::string> by_person;
  std::vector<std::string> by_us;
  std::vector<std::string> recovering;
  std::vector<std::string> recovering_in_service;
};

Recount recount(const std::map<std::string, NodeFacts>& nodes,
                const std::set<std::string>& reserved, const std::string& pool) {
  Recount result;
  std::vector<std::pair<int, std::string>> order;
  for (const auto& [name, facts] : nodes) {
    if (facts.pool == pool) order.emplace_back(facts.gpu_pods, name);
  }
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : natural_less(a.second, b.second);
  });
  for (const auto& [gpu_pods, name] : order) {
    const NodeFacts& facts = nodes.at(name);
    bool held = reserved.contains(name);
    PoolCounts& counts = result.counts;
    ++counts.total;
    bool leaves = is_active(facts.state) && facts.state != State::uncordon;
    counts.unavailable += facts.unschedulable || !facts.ready || leaves || held ? 1 : 0;
    counts.active += held || is_active(facts.state) ? 1 : 0;
    counts.failed += facts.state == State::failed ? 1 : 0;
    counts.waiting += facts.state == State::required ? 1 : 0;
    counts.done += facts.state == State::done ? 1 : 0;
    ++counts.by_state[facts.state];
    if (!facts.startable || held) continue;
    bool failed = facts.state == State::failed;
    auto& line = failed && facts.unschedulable ? result.recovering
                 : failed                      ? result.recovering_in_service
                 : !facts.unschedulable        ? result.in_service
                 : facts.cordoned_by_others    ? result.by_person
                                               : result.by_us;
    line.push_back(name);
  }
  return result;
}

std::vector<std::string> names_of(const std::set<Waiting>& line) {
  std::vector<std::string> names;
  for (const Waiting& waiting : line) names.push_back(waiting.name);
  return names;
}

RC_GTEST_PROP(Tally, CountsChangeByChangeWhatARecountWouldFind, ()) {
  Tally tally;
  std::map<std::string, NodeFacts> nodes;
  std::set<std::string> reserved;
  auto steps = *rc::gen::container<std::vector<std::tuple<int, int, int>>>(rc::gen::tuple(
      rc::gen::inRange(0, 10), rc::gen::inRange(0, 8), rc::gen::inRange(0, 1 << 14)));
  for (const auto& [action, which, bits] : steps) {
    std::string name = "gpu-" + std::to_string(which * 3);
    if (action == 0) {
      RC_ASSERT(tally.remove(name) == (nodes.erase(name) > 0));
    } else if (action == 1) {
      tally.reserve(name);
      reserved.insert(name);
    } else if (action == 2) {
      tally.release(name);
      reserved.erase(name);
    } else {
      NodeFacts facts;
      facts.pool = (bits & 1) != 0 ? "a" : "b";
      facts.unschedulable = (bits & 2) != 0;
      facts.ready = (bits & 4) != 0;
      facts.startable = (bits & 8) != 0;
      facts.cordoned_by_others = (bits & 16) != 0;
      facts.gpu_pods = (bits >> 5) & 3;
      facts.state = all_states[static_cast<size_t>(bits >> 7) % all_states.size()];
      bool changed = !nodes.contains(name) || !(nodes[name] == facts);
      RC_ASSERT(tally.update(name, facts) == changed);
      nodes[name] = facts;
    }
    for (const std::string pool : {"a", "b"}) {
      Recount expected = recount(nodes, reserved, pool);
      RC_ASSERT(tally.counts(pool) == expected.counts);
      RC_ASSERT(names_of(tally.startable(pool)) == expected.in_service);
      RC_ASSERT(names_of(tally.startable_cordoned(pool)) == expected.by_person);
      RC_ASSERT(names_of(tally.startable_again(pool)) == expected.by_us);
      RC_ASSERT(names_of(tally.recovering(pool)) == expected.recovering);
      RC_ASSERT(names_of(tally.recovering_in_service(pool)) == expected.recovering_in_service);
    }
    RC_ASSERT(tally.size() == nodes.size());
    RC_ASSERT(tally.reserved() == reserved);
  }
}

}  // namespace
}  // namespace lockstep::fleet::tally_test

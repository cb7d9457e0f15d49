// Whatever the fleet looks like: slots never take it beyond its limits, and every node gets one.
#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/strings.h"
#include "upgrade/slots.h"

namespace lockstep::upgrade::slots_property_test {
namespace {

using fleet::NodeFacts;

struct Fleet {
  std::map<std::string, NodeFacts> nodes;
  std::set<std::string> reserved;
  Policy policy;

  fleet::Tally tally() const {
    fleet::Tally tally;
    for (const auto& [name, facts] : nodes) tally.update(name, facts);
    for (const auto& name : reserved) tally.reserve(name);
    return tally;
  }
};

Fleet any_fleet() {
  Fleet fleet;
  auto nodes = *rc::gen::container<std::vector<std::tuple<int, int>>>(
      rc::gen::tuple(rc::gen::inRange(0, 40), rc::gen::inRange(0, 1 << 12)));
  for (const auto& [which, bits] : nodes) {
    std::string name = "gpu-" + std::to_string(which);
    NodeFacts facts;
    bool waits = (bits & 3) != 0;
    facts.state = waits ? State::required : fleet::all_states[static_cast<size_t>(bits >> 6) % 11];
    facts.unschedulable = (bits & 12) == 0;
    facts.ready = waits || (bits & 16) != 0;
    facts.startable = facts.state == State::required && facts.ready && (bits & 32) != 0;
    facts.cordoned_by_others = facts.unschedulable && (bits & 64) != 0;
    facts.gpu_pods = (bits >> 7) % 4;
    fleet.nodes[name] = facts;
    if ((bits >> 9) == 7) fleet.reserved.insert(name);
  }
  fleet.policy = read_policy(nullptr, "test");
  fleet.policy.max_unavailable = *rc::gen::arbitrary<bool>()
                                     ? IntOrPercent::percentage(*rc::gen::inRange(0, 101))
                                     : IntOrPercent::count(*rc::gen::inRange(0, 30));
  fleet.policy.max_parallel = *rc::gen::inRange(0, 8);
  fleet.policy.max_failures = IntOrPercent::percentage(*rc::gen::inRange(0, 101));
  fleet.policy.cordoned_nodes =
      *rc::gen::element(CordonedNodes::wait, CordonedNodes::upgrade, CordonedNodes::ignore);
  return fleet;
}

int64_t share_rounded_up(IntOrPercent share, int64_t total) {
  if (!share.percent) return share.value;
  int64_t whole = 0;
  while (whole * 100 < share.value * total) ++whole;
  return whole;
}

RC_GTEST_PROP(ChooseStarts, NeverGoesBeyondALimit, ()) {
  Fleet fleet = any_fleet();
  fleet::PoolCounts before = fleet.tally().counts("");
  auto chosen = choose_starts(fleet.tally(), "", fleet.policy);
  for (const auto& name : chosen) fleet.reserved.insert(name);
  fleet::PoolCounts after = fleet.tally().counts("");
  int64_t unavailable = share_rounded_up(fleet.policy.max_unavailable, before.total);
  RC_ASSERT(after.unavailable <= std::max(before.unavailable, unavailable));
  if (fleet.policy.max_parallel > 0) {
    RC_ASSERT(after.active <= std::max(before.active, fleet.policy.max_parallel));
  }
  int64_t failures =
      std::max<int64_t>(1, share_rounded_up(fleet.policy.max_failures, before.total));
  if (before.failed >= failures) RC_ASSERT(chosen.empty());
}

RC_GTEST_PROP(ChooseStarts, TakesOnlyNodesThatMayStartEachOnce, ()) {
  Fleet fleet = any_fleet();
  auto chosen = choose_starts(fleet.tally(), "", fleet.policy);
  std::set<std::string> once(chosen.begin(), chosen.end());
  RC_ASSERT(once.size() == chosen.size());
  for (const auto& name : chosen) {
    const NodeFacts& facts = fleet.nodes.at(name);
    RC_ASSERT(facts.startable);
    RC_ASSERT(!fleet.reserved.contains(name));
    if (fleet.policy.cordoned_nodes == CordonedNodes::ignore) RC_ASSERT(!facts.cordoned_by_others);
  }
}

RC_GTEST_PROP(ChooseStarts, StartsAsManyAsTheLimitsAllow, ()) {
  Fleet fleet = any_fleet();
  for (const auto& name : choose_starts(fleet.tally(), "", fleet.policy)) {
    fleet.reserved.insert(name);
  }
  RC_ASSERT(choose_starts(fleet.tally(), "", fleet.policy).empty());
}

// Each kind of node keeps its line: a node never goes before one of its kind that comes before it.
RC_GTEST_PROP(ChooseStarts, KeepsTheOrderOfFewestGpuPodsThenNaturalNames, ()) {
  Fleet fleet = any_fleet();
  auto chosen = choose_starts(fleet.tally(), "", fleet.policy);
  RC_ASSERT(chosen == choose_starts(fleet.tally(), "", fleet.policy));
  auto kind = [&](const std::string& name) {
    const NodeFacts& facts = fleet.nodes.at(name);
    return !facts.unschedulable ? 0 : facts.cordoned_by_others ? 1 : 2;
  };
  auto goes_before = [&](const std::string& a, const std::string& b) {
    int left = fleet.nodes.at(a).gpu_pods;
    int right = fleet.nodes.at(b).gpu_pods;
    return left != right ? left < right : natural_less(a, b);
  };
  std::set<std::string> taken;
  for (const auto& name : chosen) {
    for (const auto& [other, facts] : fleet.nodes) {
      if (!facts.startable || fleet.reserved.contains(other) || kind(other) != kind(name)) continue;
      if (goes_before(other, name)) RC_ASSERT(taken.contains(other));
    }
    taken.insert(name);
  }
}

// Admit nodes, let some of them finish, or fail and be retried, and repeat. In a bounded number of
// rounds every node has been upgraded.
RC_GTEST_PROP(ChooseStarts, StarvesNobody, ()) {
  int count = *rc::gen::inRange(1, 40);
  Fleet fleet;
  fleet.policy = read_policy(nullptr, "test");
  fleet.policy.max_unavailable = IntOrPercent::percentage(*rc::gen::inRange(1, 101));
  fleet.policy.max_parallel = *rc::gen::inRange(0, 6);
  std::map<std::string, int> failures_left;
  for (int i = 0; i < count; ++i) {
    NodeFacts facts;
    facts.state = State::required;
    facts.startable = true;
    facts.gpu_pods = *rc::gen::inRange(0, 4);
    std::string name = "gpu-" + std::to_string(i);
    fleet.nodes[name] = facts;
    failures_left[name] = *rc::gen::inRange(0, 3) == 0 ? 1 : 0;
  }
  // Each round at least one node starts and ends, and each ends twice at most.
  for (int round = 0; round < 2 * count; ++round) {
    for (const auto& name : choose_starts(fleet.tally(), "", fleet.policy)) {
      NodeFacts& facts = fleet.nodes[name];
      facts.state = State::pod_restart;
      facts.unschedulable = true;
      facts.startable = false;
    }
    fleet::PoolCounts counts = fleet.tally().counts("");
    RC_ASSERT(counts.unavailable <= share_rounded_up(fleet.policy.max_unavailable, counts.total));
    bool one_ended = false;
    for (auto& [name, facts] : fleet.nodes) {
      if (!fleet::is_active(facts.state) || one_ended) continue;
      one_ended = true;
      if (failures_left[name]-- > 0) {
        facts.state = State::required;  // failed, and a user retries it: still cordoned
        facts.startable = true;
      } else {
        facts.state = State::done;
        facts.unschedulable = false;
      }
    }
  }
  for (const auto& [name, facts] : fleet.nodes) RC_ASSERT(facts.state == State::done);
}

RC_GTEST_PROP(Limits, RoundPercentagesUp, ()) {
  int64_t total = *rc::gen::inRange(0, 20'000);
  Policy policy = read_policy(nullptr, "test");
  policy.max_unavailable = IntOrPercent::percentage(*rc::gen::inRange(0, 101));
  RC_ASSERT(limits_of(policy, total).unavailable ==
            share_rounded_up(policy.max_unavailable, total));
}

TEST(ChooseStarts, OfAnEmptyPoolIsEmpty) {
  EXPECT_TRUE(choose_starts(fleet::Tally(), "", read_policy(nullptr, "test")).empty());
}

}  // namespace
}  // namespace lockstep::upgrade::slots_property_test

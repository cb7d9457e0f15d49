#include "rollout/membership.h"

#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace lockstep::rollout::membership_test {
namespace {

constexpr const char* zone = "topology.kubernetes.io/zone";
constexpr const char* clique = "nvidia.com/gpu.clique";

Candidate node(int number, StringMap labels = {}) {
  return {fmt::format("gpu-{}", number), std::move(labels)};
}

WaveSpec wave(NodeSelection::Kind kind, int64_t number = 0) {
  WaveSpec spec;
  spec.name = "wave";
  spec.nodes.kind = kind;
  spec.nodes.number = number;
  return spec;
}

using Names = std::vector<std::string>;

Candidate excluded(int number, std::string_view why, StringMap labels = {}) {
  Candidate made = node(number, std::move(labels));
  made.excluded = why;
  made.skipped = why == "skipped by a user";
  return made;
}

TEST(Membership, CountsAndPercentagesTakeOnlyNodesThatCanBeUpgradedNow) {
  std::vector<Candidate> nodes{excluded(1, "not Ready"), excluded(2, "skipped by a user"), node(3),
                               excluded(4, "cordoned by a user"), node(5)};
  WaveChoice one = choose_wave(wave(NodeSelection::Kind::count, 1), "", nodes, 5);
  EXPECT_EQ(one.nodes, (Names{"gpu-3"}));
  EXPECT_TRUE(one.is_enough());
  WaveChoice three = choose_wave(wave(NodeSelection::Kind::count, 3), "", nodes, 5);
  EXPECT_EQ(three.nodes, (Names{"gpu-3", "gpu-5"}));
  EXPECT_EQ(three.wanted, 3);
  EXPECT_FALSE(three.is_enough());
  WaveChoice percent = choose_wave(wave(NodeSelection::Kind::percent, 60), "", nodes, 5);
  EXPECT_EQ(percent.wanted, 3);
  EXPECT_FALSE(percent.is_enough());
}

TEST(Membership, APercentageAsksForNoMoreThanIsLeftAndNothingOfSkippedNodes) {
  std::vector<Candidate> left{node(4), excluded(5, "skipped by a user")};
  WaveChoice half = choose_wave(wave(NodeSelection::Kind::percent, 50), "", left, 5);
  EXPECT_EQ(half.wanted, 1);
  EXPECT_TRUE(half.is_enough());
  left.erase(left.begin());
  WaveChoice none = choose_wave(wave(NodeSelection::Kind::percent, 50), "", left, 5);
  EXPECT_EQ(none.wanted, 0);
  EXPECT_TRUE(none.nodes.empty());
}

TEST(Membership, LabelsTakeWhatTheyNameAndCountWhatIsEligible) {
  WaveSpec canary = wave(NodeSelection::Kind::labels);
  canary.nodes.labels = *LabelSelector::parse("gpu-canary=true");
  std::vector<Candidate> nodes{node(1), excluded(2, "not Ready", {{"gpu-canary", "true"}})};
  WaveChoice chosen = choose_wave(canary, "", nodes, 2);
  EXPECT_EQ(chosen.nodes, (Names{"gpu-2"}));
  EXPECT_EQ(chosen.eligible, 0);
  EXPECT_FALSE(chosen.is_enough());
}

TEST(Membership, AKindOfWhichNoNodeCanBeUpgradedIsMissing) {
  WaveSpec canary = default_waves().front();
  std::vector<Candidate> nodes{node(1, {{gpu_model_label, "H100"}}),
                               excluded(2, "not Ready", {{gpu_model_label, "L4"}}),
                               excluded(3, "skipped by a user", {{gpu_model_label, "T4"}})};
  WaveChoice chosen = choose_wave(canary, "", nodes, 3);
  EXPECT_EQ(chosen.nodes, (Names{"gpu-1"}));
  EXPECT_EQ(chosen.uncovered, (std::vector<Stratum>{{"L4"}})) << "T4 is left out by a user";
}

TEST(Membership, AGroupIsChosenOnlyWhenAllOfItCanBeUpgraded) {
  std::vector<Candidate> nodes{node(1, {{clique, "a"}}), excluded(2, "not Ready", {{clique, "a"}}),
                               node(3, {{clique, "b"}}), node(4, {{clique, "b"}})};
  EXPECT_EQ(choose_wave(wave(NodeSelection::Kind::count, 1), clique, nodes, 4).nodes,
            (Names{"gpu-3", "gpu-4"}));
}

TEST(Membership, CountsAreTakenInNaturalOrder) {
  std::vector<Candidate> nodes{node(10), node(9), node(2), node(1)};
  EXPECT_EQ(choose_wave(wave(NodeSelection::Kind::count, 3), "", nodes, 4).nodes,
            (Names{"gpu-1", "gpu-2", "gpu-9"}));
  EXPECT_EQ(choose_wave(wave(NodeSelection::Kind::count, 30), "", nodes, 4).nodes.size(), 4U);
}

TEST(Membership, PercentIsOfAllNodesAndRoundedUp) {
  std::vector<Candidate> nodes{node(1), node(2), node(3)};
  EXPECT_EQ(choose_wave(wave(NodeSelection::Kind::percent, 10), "", nodes, 11).nodes.size(), 2U);
  EXPECT_EQ(choose_wave(wave(NodeSelection::Kind::percent, 1), "", nodes, 3).nodes.size(), 1U);
}

TEST(Membership, LabelsTakeThoseThatMatch) {
  WaveSpec canary = wave(NodeSelection::Kind::labels);
  canary.nodes.labels = *LabelSelector::parse("gpu-canary=true");
  std::vector<Candidate> nodes{node(1), node(2, {{"gpu-canary", "true"}}),
                               node(3, {{"gpu-canary", "false"}})};
  EXPECT_EQ(choose_wave(canary, "", nodes, 3).nodes, (Names{"gpu-2"}));
}

TEST(Membership, StratifiedTakesOneOfEveryKind) {
  WaveSpec canary = default_waves().front();
  std::vector<Candidate> nodes;
  for (int i = 1; i <= 9; ++i) {
    const char* model = i < 8 ? "H100" : i == 8 ? "H200" : "GB200";
    nodes.push_back(node(i, {{gpu_model_label, model}}));
  }
  EXPECT_EQ(choose_wave(canary, "", nodes, 9).nodes, (Names{"gpu-1", "gpu-8", "gpu-9"}));
}

TEST(Membership, SpreadsAsEvenlyAsCanBe) {
  WaveSpec tenth = wave(NodeSelection::Kind::count, 4);
  tenth.spread_by = zone;
  std::vector<Candidate> nodes;
  for (int i = 1; i <= 12; ++i) nodes.push_back(node(i, {{zone, i <= 8 ? "a" : "b"}}));
  EXPECT_EQ(choose_wave(tenth, "", nodes, 12).nodes, (Names{"gpu-1", "gpu-2", "gpu-9", "gpu-10"}));
}

TEST(Membership, GroupsAreTakenWhole) {
  std::vector<Candidate> nodes{node(1, {{clique, "a"}}), node(2), node(3, {{clique, "a"}}),
                               node(4, {{clique, "b"}})};
  EXPECT_EQ(choose_wave(wave(NodeSelection::Kind::count, 1), clique, nodes, 4).nodes,
            (Names{"gpu-1", "gpu-3"}));
  WaveSpec canary = wave(NodeSelection::Kind::labels);
  canary.nodes.labels = *LabelSelector::parse("nvidia.com/gpu.clique=a");
  EXPECT_EQ(choose_wave(canary, clique, nodes, 4).nodes, (Names{"gpu-1", "gpu-3"}));
}

RC_GTEST_PROP(Membership, EveryNodeIsInExactlyOneWaveAndNoGroupIsTorn, ()) {
  RolloutSpec spec;
  spec.group_by = *rc::gen::arbitrary<bool>() ? clique : "";
  int waves = *rc::gen::inRange(0, 4);
  for (int i = 0; i < waves; ++i) {
    bool percent = *rc::gen::arbitrary<bool>();
    WaveSpec each = wave(percent ? NodeSelection::Kind::percent : NodeSelection::Kind::count,
                         *rc::gen::inRange(1, 30));
    if (*rc::gen::arbitrary<bool>()) each.spread_by = zone;
    if (*rc::gen::arbitrary<bool>()) each.stratify = {std::string(gpu_model_label)};
    spec.waves.push_back(each);
  }
  spec.waves.push_back(wave(NodeSelection::Kind::rest));
  std::vector<Candidate> nodes;
  std::map<std::string, std::string> group_of;
  int count = *rc::gen::inRange(0, 40);
  for (int i = 0; i < count; ++i) {
    std::string group = fmt::format("{}", *rc::gen::inRange(0, 5));
    StringMap labels{{gpu_model_label, *rc::gen::element(std::string("x"), std::string("y"))},
                     {zone, *rc::gen::element(std::string("a"), std::string("b"))}};
    if (group != "0") labels.set(clique, group);
    nodes.push_back(node(i, labels));
    group_of[nodes.back().name] = group;
  }
  std::map<std::string, size_t> wave_of;
  auto chosen = choose_waves(spec, nodes);
  RC_ASSERT(chosen.size() == spec.waves.size());
  for (size_t i = 0; i < chosen.size(); ++i) {
    for (const auto& name : chosen[i]) RC_ASSERT(wave_of.emplace(name, i).second);
  }
  RC_ASSERT(wave_of.size() == nodes.size());
  if (spec.group_by.empty()) return;
  std::map<std::string, size_t> wave_of_group;
  for (const auto& [name, index] : wave_of) {
    if (group_of[name] == "0") continue;
    RC_ASSERT(wave_of_group.emplace(group_of[name], index).first->second == index);
  }
}

}  // namespace
}  // namespace lockstep::rollout::membership_test

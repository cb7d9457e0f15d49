#include "rollout/baseline.h"

#include <gtest/gtest.h>

namespace lockstep::rollout::baseline_test {
namespace {

// What `lockstep gate inference` leaves behind on a node with a GPU for each speed.
GateEnd inference(const std::vector<double>& speeds, const std::string& verdict = "Passed") {
  JsonArray results;
  for (size_t i = 0; i < speeds.size(); ++i) {
    results.push_back(JsonObject{{"check", "inference"},
                                 {"verdict", verdict},
                                 {"gpu", "GPU-" + std::to_string(i)},
                                 {"measured", JsonObject{{"tflops", speeds[i]}, {"size", 4096}}}});
  }
  return {verdict == "Passed" ? 0 : 1,
          print_json(JsonObject{{"verdict", verdict}, {"results", std::move(results)}})};
}

GateEnd ecc(int64_t uncorrected) {
  return {0, print_json(JsonObject{
                 {"verdict", "Passed"},
                 {"results", JsonArray{JsonObject{
                                 {"check", "ecc"},
                                 {"verdict", "Passed"},
                                 {"measured", JsonObject{{"uncorrected_aggregate", uncorrected},
                                                         {"corrected_aggregate", 70}}}}}}})};
}

WaveBaseline baseline_of(const std::string& gate, const GateEnd& end, bool in_use = false) {
  WaveBaseline baseline;
  baseline.id = "a/b=new first";
  baseline.revision = "a/b=new";
  baseline.taken = Time::from_unix(1'800'000'000);
  baseline.nodes["gpu-1"] = {in_use, {{gate, numbers_of(end)}}};
  return baseline;
}

const GateWord passed{Outcome::passed, ""};

TEST(Baseline, TakesTheSlowestGpuAndAllErrors) {
  EXPECT_EQ(numbers_of(inference({780, 712.5, 779})).speeds,
            (std::map<std::string, double>{{"inference tflops", 712.5}}));
  EXPECT_EQ(numbers_of(ecc(3)).counts,
            (std::map<std::string, int64_t>{{"ecc uncorrected_aggregate", 3}}));
  for (const char* other :
       {"", "all_reduce 41 GB/s", "{}", R"({"results":7})",
        R"({"results":[{"check":"inference","measured":{"tflops":"fast"}}]})"}) {
    EXPECT_TRUE(numbers_of({0, other}).empty()) << other;
  }
}

TEST(Baseline, IsOfGatesWithNumbersThatSayMoreBesideThoseOfBefore) {
  for (const char* name : {"inference", "ecc", "rdma"}) {
    EXPECT_TRUE(is_compared({name, GateKind::built_in, false, nullptr})) << name;
  }
  EXPECT_FALSE(is_compared({"driver", GateKind::built_in, false, nullptr}));
  EXPECT_FALSE(is_compared({"training", GateKind::built_in, false, nullptr}));
  EXPECT_FALSE(is_compared({"inference", GateKind::job, false, nullptr}));
}

TEST(Baseline, ASlowerNodeFailsAtTheToleranceAndNotAbove) {
  WaveBaseline before = baseline_of("inference", inference({800, 810}));
  auto verdict = [&](double speed) {
    return compare("inference", "gpu-1", &before, inference({speed, 900}), passed, false);
  };
  EXPECT_EQ(verdict(760).outcome, Outcome::passed);
  EXPECT_EQ(verdict(759).outcome, Outcome::failed);
  EXPECT_EQ(verdict(759).text,
            "inference tflops: 759.0, less than 760.0 (0.95 x before the upgrade)");
  EXPECT_EQ(verdict(1200).outcome, Outcome::passed);
}

TEST(Baseline, ErrorsCountFromTheBaselineOn) {
  WaveBaseline before = baseline_of("ecc", ecc(7));
  EXPECT_EQ(compare("ecc", "gpu-1", &before, ecc(7), passed, false).outcome, Outcome::passed);
  GateWord more = compare("ecc", "gpu-1", &before, ecc(9), passed, true);
  EXPECT_EQ(more.outcome, Outcome::failed);
  EXPECT_EQ(more.text, "ecc uncorrected_aggregate: 2 more than before the upgrade, limit 0");
}

// A gate beside a running workload is slower, whatever the driver.
TEST(Baseline, SlowerOnlyBecausePodsUseTheGpusNowIsForAPerson) {
  WaveBaseline idle = baseline_of("inference", inference({800}));
  GateWord word = compare("inference", "gpu-1", &idle, inference({500}), passed, true);
  EXPECT_EQ(word.outcome, Outcome::inconclusive);
  EXPECT_NE(word.text.find("500.0"), std::string::npos) << word.text;
  WaveBaseline busy = baseline_of("inference", inference({800}), true);
  EXPECT_EQ(compare("inference", "gpu-1", &busy, inference({500}), passed, true).outcome,
            Outcome::failed);
}

TEST(Baseline, WithoutOneNothingThatCouldBeComparedPasses) {
  const GateEnd after = inference({800});
  EXPECT_EQ(compare("inference", "gpu-1", nullptr, after, passed, false).outcome,
            Outcome::inconclusive);
  WaveBaseline before = baseline_of("inference", inference({800}));
  EXPECT_EQ(compare("inference", "gpu-2", &before, after, passed, false).outcome,
            Outcome::inconclusive);
  before.nodes["gpu-1"].gates["inference"] = {{}, {}, "its pod left no exit code"};
  GateWord word = compare("inference", "gpu-1", &before, after, passed, false);
  EXPECT_EQ(word.outcome, Outcome::inconclusive);
  EXPECT_EQ(word.text, "no baseline from before the upgrade: its pod left no exit code");
  // What measures nothing has nothing to compare.
  EXPECT_EQ(compare("inference", "gpu-1", nullptr, {0, ""}, passed, false).outcome,
            Outcome::passed);
}

TEST(Baseline, WhatIsNotMeasuredAgainIsForAPerson) {
  WaveBaseline before = baseline_of("inference", inference({800}));
  EXPECT_EQ(compare("inference", "gpu-1", &before, {0, ""}, passed, false).outcome,
            Outcome::inconclusive);
  WaveBaseline errors = baseline_of("ecc", ecc(0));
  EXPECT_EQ(compare("ecc", "gpu-1", &errors, {0, "{}"}, passed, false).outcome,
            Outcome::inconclusive);
}

TEST(Baseline, NodesThatHadTheNewDriverAlreadyOrAreTooManyAreJudgedByTheGateAlone) {
  WaveBaseline before = baseline_of("inference", inference({800}));
  before.nodes["gpu-2"] = {};
  EXPECT_EQ(compare("inference", "gpu-2", &before, inference({1}), passed, false).outcome,
            Outcome::passed);
  before.left_out = 3;
  EXPECT_EQ(compare("inference", "gpu-3", &before, inference({1}), passed, false).outcome,
            Outcome::passed);
}

// A model without a minimum: the gate alone is inconclusive, its baseline decides.
TEST(Baseline, DecidesWhatTheGateCouldNotTellWithoutIt) {
  const GateEnd after = inference({790}, "Inconclusive");
  const GateWord open = word_of(after);
  ASSERT_EQ(open.outcome, Outcome::inconclusive);
  WaveBaseline before = baseline_of("inference", inference({800}, "Inconclusive"));
  EXPECT_EQ(compare("inference", "gpu-1", &before, after, open, false).outcome, Outcome::passed);
  before = baseline_of("inference", inference({1000}, "Inconclusive"));
  EXPECT_EQ(compare("inference", "gpu-1", &before, after, open, false).outcome, Outcome::failed);
  // Not what has another reason.
  const GateEnd other{1, R"({"verdict":"Inconclusive","results":[{"check":"inference",)"
                         R"("verdict":"Inconclusive","text":"no data"}]})"};
  EXPECT_EQ(compare("inference", "gpu-1", &before, other, word_of(other), false).outcome,
            Outcome::inconclusive);
}

TEST(Baseline, DoesNotExcuseAGateThatFailed) {
  WaveBaseline before = baseline_of("inference", inference({100}));
  const GateEnd after = inference({800}, "Failed");
  EXPECT_EQ(compare("inference", "gpu-1", &before, after, word_of(after), false).outcome,
            Outcome::failed);
  EXPECT_EQ(compare("inference", "gpu-1", &before, {3, ""}, {Outcome::error, "x"}, false).outcome,
            Outcome::error);
}

TEST(Baseline, GivesTheJudgePairsOfSpeeds) {
  WaveBaseline before = baseline_of("inference", inference({800}));
  auto pairs = speed_pairs("inference", "gpu-1", before, numbers_of(inference({776})), false);
  ASSERT_EQ(pairs.size(), 1U);
  EXPECT_EQ(pairs[0].node, "gpu-1");
  EXPECT_EQ(pairs[0].what, "inference tflops");
  EXPECT_DOUBLE_EQ(pairs[0].before, 800);
  EXPECT_DOUBLE_EQ(pairs[0].after, 776);
  EXPECT_TRUE(
      speed_pairs("inference", "gpu-1", before, numbers_of(inference({776})), true).empty());
  EXPECT_TRUE(
      speed_pairs("inference", "gpu-2", before, numbers_of(inference({776})), false).empty());
  EXPECT_TRUE(speed_pairs("inference", "gpu-1", before, {}, false).empty());
}

TEST(Baseline, ComesBackFromItsText) {
  WaveBaseline before = baseline_of("inference", inference({800.25}), true);
  before.left_out = 7;
  before.nodes["gpu-2"] = {};
  before.nodes["gpu-3"].gates["ecc"] = {{}, {{"ecc uncorrected_aggregate", 12}}, ""};
  before.nodes["gpu-3"].gates["rdma"] = {{}, {}, "the node was not ready"};
  auto again = WaveBaseline::parse(before.text());
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(*again, before);
  // Cut off in the middle, or another thing altogether.
  std::string text = before.text();
  EXPECT_FALSE(WaveBaseline::parse(text.substr(0, text.size() - 20)));
  for (const char* wrong : {"", "x", "{}\n", "{\"taken\":\"2027-01-15T08:00:00Z\"}\n{}\n"}) {
    EXPECT_FALSE(WaveBaseline::parse(wrong)) << wrong;
  }
}

TEST(Baseline, OfTheLargestWaveFitsIntoAConfigMap) {
  WaveBaseline before;
  before.taken = Time::from_unix(1'800'000'000);
  for (size_t i = 0; i < most_baseline_nodes; ++i) {
    NodeBaseline& node = before.nodes[std::string(240, 'n') + std::to_string(i)];
    for (const char* gate : {"ecc", "inference", "rdma"}) {
      node.gates[gate] = {{{"inference tflops", 1234.5678901234567}},
                          {{"ecc uncorrected_aggregate", 1'000'000'000}},
                          std::string(longest_none, 'x')};
    }
  }
  EXPECT_LT(before.text().size(), size_t{1} << 20U);
}

}  // namespace
}  // namespace lockstep::rollout::baseline_test

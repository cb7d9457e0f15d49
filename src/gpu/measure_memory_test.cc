#include "gpu/fake_test_util.h"
#include "gpu/judge.h"
#include "gpu/measure.h"

namespace lockstep::gpu::measure_memory_test {
namespace {

const GpuModel model = {"NVIDIA H200", 18, 3600, 30, 400};

CheckResult judged(const std::string& scenario, const MeasureOptions& options = {}) {
  FakeCuda fake(scenario);
  auto facts = measure_memory(fake.device(), options);
  EXPECT_TRUE(facts.has_value()) << facts.error().text();
  if (!facts) return {};
  const Json gpu = JsonObject{{"memory", *facts}};
  return judge_memory({gpu, nullptr, &model});
}

TEST(MeasureMemory, MostOfTheFreeMemoryIsWrittenAndRead) {
  const CheckResult result = judged("memory_megabytes 64\n");
  EXPECT_EQ(result.verdict, Verdict::passed) << result.text;
  EXPECT_GT(as_integer(result.measured.if_contains("tested_bytes")), 55 << 20);
}

TEST(MeasureMemory, OneBitThatIsNotKeptIsFound) {
  const CheckResult result = judged("flip_memory 1\n");
  EXPECT_EQ(result.verdict, Verdict::failed);
  EXPECT_NE(result.text.find("wrong"), std::string::npos);
}

TEST(MeasureMemory, TheTestSwitchIsCaught) {
  MeasureOptions options;
  options.wrong = "memory";
  const CheckResult result = judged("gpus 1\n", options);
  EXPECT_EQ(result.verdict, Verdict::failed);
  EXPECT_EQ(as_integer(result.measured.if_contains("wrong_cells")), 1);
}

TEST(MeasureMemory, SlowerThanTheModelsFloorFails) {
  EXPECT_EQ(judged("bandwidth 3500\n").verdict, Verdict::failed);
}

TEST(MeasureMemory, WhatTheDriverCannotGiveInOnePieceIsTriedSmaller) {
  FakeCuda fake("gpus 1\n");
  auto first = measure_memory(fake.device(), {});
  ASSERT_TRUE(first.has_value());
  // The first allocations are the result's and the copy's; the one for the patterns is refused
  // once.
  FakeCuda refusing("fail cuMemAlloc_v2 2 4\n");
  auto refused = measure_memory(refusing.device(), {});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().kind, ErrorKind::too_large);
}

TEST(MeasureMemory, ASmallBudgetTestsLess) {
  FakeCuda fake("memory_megabytes 64\nbandwidth 10\n");
  MeasureOptions options;
  options.budget_seconds = 0.05;
  auto facts = measure_memory(fake.device(), options);
  ASSERT_TRUE(facts.has_value()) << facts.error().text();
  EXPECT_LT(as_integer(facts->if_contains("tested_bytes")), 20 << 20);
}

}  // namespace
}  // namespace lockstep::gpu::measure_memory_test

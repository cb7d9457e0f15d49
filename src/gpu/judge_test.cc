#include "gpu/judge.h"

#include "gpu/judge_test_util.h"

namespace lockstep::gpu {
namespace {

TEST(Judge, EveryGpuIsJudgedAndNamed) {
  Bench bench(
      R"({"gpus":{"GPU-a":{"identity":{"name":"NVIDIA H200"},"memory":{"gigabytes_per_second":4000,"wrong_cells":0}},
                          "GPU-b":{"identity":{"name":"NVIDIA H200"},
                           "memory":{"gigabytes_per_second":100,"wrong_cells":0}}},
                  "seconds":{"GPU-a":{"memory":0.5}}})");
  auto results = judge(bench.input({"memory"}));
  ASSERT_EQ(results.size(), 2U);
  EXPECT_EQ(results[0].verdict, Verdict::passed) << results[0].text;
  EXPECT_EQ(results[0].gpu, "GPU-a");
  EXPECT_EQ(results[0].seconds, 0.5);
  EXPECT_EQ(results[1].verdict, Verdict::failed) << results[1].text;
}

TEST(Judge, WhatAWorkerCouldNotDoIsItsVerdict) {
  Bench bench(R"({"gpus":{"GPU-a":{}},"troubles":{"GPU-a":{"memory":{"failed":true,"text":"lost"},
                  "pcie":{"failed":false,"text":"hung in cuInit"},
                  "training":{"failed":false,"unfinished":true,"text":"budget"}},
                  "":{"ecc":{"failed":false,"text":"not possible"}}}})");
  auto results = judge(bench.input({"memory", "pcie", "training", "ecc"}));
  ASSERT_EQ(results.size(), 4U);
  EXPECT_EQ(results[0].verdict, Verdict::failed);
  EXPECT_EQ(results[1].verdict, Verdict::error);
  EXPECT_EQ(results[1].text, "hung in cuInit");
  EXPECT_EQ(results[2].verdict, Verdict::inconclusive);
  EXPECT_EQ(results[3].verdict, Verdict::error);
}

TEST(Judge, NoDataIsNeverPassed) {
  Bench bench(R"({"gpus":{"GPU-a":{}}})");
  std::vector<std::string> checks = *chosen_checks({});
  for (const CheckResult& result : judge(bench.input(checks)))
    EXPECT_NE(result.verdict, Verdict::passed) << result.check;
}

TEST(Judge, ALostGpuFailsWhateverIsAskedOfIt) {
  Bench bench(
      R"({"gpus":{"gpu-0":{"identity":{"lost":true,"errors":["nvmlX: GPU is lost code 15"]}}}})");
  for (const CheckResult& result : judge(bench.input({"ecc", "memory", "throttle"})))
    EXPECT_EQ(result.verdict, Verdict::failed) << result.check;
}

TEST(Judge, WithoutAnyGpuThereIsNothingToPass) {
  Bench bench("{}");
  auto results = judge(bench.input({"memory"}));
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(results[0].verdict, Verdict::inconclusive);
}

}  // namespace
}  // namespace lockstep::gpu

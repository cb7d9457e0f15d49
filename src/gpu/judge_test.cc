#include "gpu/judge.h"

#include <functional>

#include "gpu/judge_test_util.h"

namespace lockstep::gpu::judge_test {
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

// Calls `visit` with every copy of a document in which one value, at any depth, is something else.
void each_damaged(Json& part, const std::function<void()>& visit) {
  const Json good = part;
  for (const char* junk : {"null", "7", "-1.5", "\"x\"", "[]", "[7]", "{}", "true"}) {
    part = json(junk);
    visit();
  }
  part = good;
  if (part.is_object()) {
    for (auto& member : part.as_object()) each_damaged(member.value(), visit);
  } else if (part.is_array()) {
    for (Json& element : part.as_array()) each_damaged(element, visit);
  }
}

TEST(Judge, ABaselineThatIsDamagedAnywhereIsJudgedWithoutACrash) {
  const char* facts =
      R"({"node":{"driver_version":"1"},"host":{"module_version":"1","missing_nodes":[]},"all_gpus":{"a":{}},
          "gpus":{"a":{"identity":{"name":"NVIDIA H200"},"memory":{"gigabytes_per_second":4000,"wrong_cells":0},
            "inference":{"tflops":700,"wrong_rows":0,"kernel":"k","size":4096},
            "pcie":{"to_gpu_gigabytes_per_second":50,"to_host_gigabytes_per_second":50,"wrong_cells":0},
            "clocks":{"samples":1,"reasons":0},
            "after":{"ecc":{"uncorrected_aggregate":0,"remapped_rows":{"pending":false,"failed":false}},
              "nvlink":{"links":[{"link":0,"active":true}],"fabric":{"state":3,"status":0,"clique":1}}}}},
          "peers":[{"from":"a","to":"b","wrong_cells":0,"gigabytes_per_second":300}],
          "rdma":{"after":{"m/1":{"state":"ACTIVE","phys_state":"LinkUp","link_downed":0}}}})";
  Bench bench(facts, facts);
  const std::vector<std::string> checks = *chosen_checks({});
  const size_t results = judge(bench.input(checks)).size();
  size_t damaged = 0;
  each_damaged(bench.baseline, [&] {
    ++damaged;
    EXPECT_EQ(judge(bench.input(checks)).size(), results);
  });
  EXPECT_GT(damaged, 300U);
}

TEST(Judge, WithoutAnyGpuThereIsNothingToPass) {
  Bench bench("{}");
  auto results = judge(bench.input({"memory"}));
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(results[0].verdict, Verdict::inconclusive);
}

}  // namespace
}  // namespace lockstep::gpu::judge_test

#include "gpu/judge_test_util.h"

namespace lockstep::gpu::judge_node_test {
namespace {

constexpr const char* good_driver =
    R"({"node":{"driver_version":"580.95.05"},"host":{"module_version":"580.95.05","missing_nodes":[]},
        "all_gpus":{"GPU-a":{},"GPU-b":{}},"gpus":{"GPU-a":{},"GPU-b":{}}})";

TEST(JudgeDriver, LibraryModuleAndExpectationMustAgree) {
  Bench bench(good_driver);
  EXPECT_EQ(judge_driver(bench.input()).verdict, Verdict::passed);
  bench.expect_driver = "580.95.05";
  EXPECT_EQ(judge_driver(bench.input()).verdict, Verdict::passed);
  bench.expect_driver = "570.1";
  EXPECT_EQ(judge_driver(bench.input()).verdict, Verdict::failed);
  bench.expect_driver = "";
  bench.facts.as_object()["host"].as_object()["module_version"] = "570.1";
  EXPECT_EQ(judge_driver(bench.input()).verdict, Verdict::failed);
}

TEST(JudgeDriver, NvmlThatDoesNotOpenFailsAndTheModuleIsNamed) {
  Bench bench(
      R"({"start":"nvmlInit_v2: Driver/library version mismatch code 18","host":{"module_version":"570.1"}})");
  const CheckResult result = judge_driver(bench.input());
  EXPECT_EQ(result.verdict, Verdict::failed);
  EXPECT_NE(result.text.find("570.1"), std::string::npos);
  EXPECT_NE(result.text.find("code 18"), std::string::npos);
}

TEST(JudgeDriver, TheGpusMustBeTheBaselines) {
  EXPECT_EQ(judge_driver(Bench(good_driver, good_driver).input()).verdict, Verdict::passed);
  const CheckResult result = judge_driver(
      Bench(good_driver, R"({"all_gpus":{"GPU-a":{},"GPU-b":{},"GPU-c":{}}})").input());
  EXPECT_EQ(result.verdict, Verdict::failed);
  EXPECT_EQ(result.text, "2 GPUs, 3 in the baseline; gone: GPU-c");
}

TEST(JudgeDriver, MissingDeviceNodesFail) {
  Bench bench(good_driver);
  bench.facts.as_object()["host"].as_object()["missing_nodes"] = JsonArray{Json("/dev/nvidia-uvm")};
  const CheckResult result = judge_driver(bench.input());
  EXPECT_EQ(result.verdict, Verdict::failed);
  EXPECT_NE(result.text.find("/dev/nvidia-uvm"), std::string::npos);
}

TEST(JudgeDriver, AGpuThatDoesNotAnswerFailsWithItsName) {
  Bench bench(good_driver);
  bench.facts.as_object()["gpus"].as_object()["GPU-b"] =
      json(R"({"identity":{"lost":true,"errors":["x code 15"]}})");
  const CheckResult result = judge_driver(bench.input());
  EXPECT_EQ(result.verdict, Verdict::failed);
  EXPECT_NE(result.text.find("GPU-b"), std::string::npos);
}

TEST(JudgeDriver, AnUnknownModuleIsInconclusive) {
  Bench bench(good_driver);
  bench.facts.as_object()["host"].as_object().erase("module_version");
  EXPECT_EQ(judge_driver(bench.input()).verdict, Verdict::inconclusive);
}

TEST(JudgePeer, WrongBytesAndSlowPairsFail) {
  const char* good =
      R"({"peers":[{"from":"a","to":"b","wrong_cells":0,"gigabytes_per_second":390}]})";
  const char* slow =
      R"({"peers":[{"from":"a","to":"b","wrong_cells":0,"gigabytes_per_second":300}]})";
  const char* wrong =
      R"({"peers":[{"from":"a","to":"b","wrong_cells":1,"gigabytes_per_second":390}]})";
  EXPECT_EQ(judge_peer(Bench(good, good).input()).verdict, Verdict::passed);
  EXPECT_EQ(judge_peer(Bench(slow, good).input()).verdict, Verdict::failed);
  EXPECT_EQ(judge_peer(Bench(wrong, good).input()).verdict, Verdict::failed);
  EXPECT_EQ(judge_peer(Bench(good).input()).verdict, Verdict::inconclusive);
  EXPECT_EQ(judge_peer(Bench("{}").input()).verdict, Verdict::skipped);
}

constexpr const char* port_up =
    R"({"rdma":{"after":{"mlx5_0/1":{"state":"ACTIVE","phys_state":"LinkUp",
                "gigabits_per_second":400,"link_downed":1}}}})";

TEST(JudgeRdma, ByTheBaselinesPorts) {
  EXPECT_EQ(judge_rdma(Bench(port_up, port_up).input()).verdict, Verdict::passed);
  EXPECT_EQ(judge_rdma(Bench(port_up).input()).verdict, Verdict::passed);
  struct Case {
    const char* about;
    const char* now;
  };
  for (const Case& c :
       {Case{"down", R"({"rdma":{"after":{"mlx5_0/1":{"state":"DOWN","phys_state":"Polling"}}}})"},
        Case{"slow",
             R"({"rdma":{"after":{"mlx5_0/1":{"state":"ACTIVE","phys_state":"LinkUp",
                "gigabits_per_second":100,"link_downed":1}}}})"},
        Case{"went down",
             R"({"rdma":{"after":{"mlx5_0/1":{"state":"ACTIVE","phys_state":"LinkUp",
                "gigabits_per_second":400,"link_downed":2}}}})"},
        Case{"no uverbs",
             R"({"rdma":{"after":{"mlx5_0/1":{"state":"ACTIVE","phys_state":"LinkUp",
                "gigabits_per_second":400,"link_downed":1,"uverbs":"uverbs0","uverbs_there":false}}}})"},
        Case{"gone", R"({"rdma":{"after":{}}})"}}) {
    EXPECT_EQ(judge_rdma(Bench(c.now, port_up).input()).verdict, Verdict::failed) << c.about;
  }
}

TEST(JudgeRdma, APortThatIsDownWithoutABaselineIsForAPerson) {
  const char* down = R"({"rdma":{"after":{"mlx5_0/1":{"state":"DOWN","phys_state":"Polling"}}}})";
  EXPECT_EQ(judge_rdma(Bench(down).input()).verdict, Verdict::inconclusive);
  EXPECT_EQ(judge_rdma(Bench(down, down).input()).verdict, Verdict::passed);
}

// What a rollout keeps of them: plain numbers, which the termination message has room for.
TEST(JudgeRdma, CountsPortsThatAreUpAndLinksThatWentDown) {
  CheckResult result = judge_rdma(Bench(R"({"rdma":{"after":{
          "mlx5_0/1":{"state":"ACTIVE","phys_state":"LinkUp","link_downed":2},
          "mlx5_1/1":{"state":"ACTIVE","phys_state":"LinkUp","link_downed":1},
          "mlx5_2/1":{"state":"DOWN","phys_state":"Polling"}}}})")
                                      .input());
  EXPECT_EQ(result.verdict, Verdict::inconclusive);
  EXPECT_EQ(as_integer(result.measured.if_contains("ports_up")), 2);
  EXPECT_EQ(as_number(*result.measured.if_contains("link_downed")), 3);
}

TEST(JudgeRdma, EfaByItsCarrier) {
  const char* up = R"({"rdma":{"after":{"rdmap0s6/1":{"efa":true,"carrier":true}}}})";
  const char* down = R"({"rdma":{"after":{"rdmap0s6/1":{"efa":true,"carrier":false}}}})";
  EXPECT_EQ(judge_rdma(Bench(up, up).input()).verdict, Verdict::passed);
  EXPECT_EQ(judge_rdma(Bench(down, up).input()).verdict, Verdict::failed);
}

TEST(JudgeRdma, AMachineWithoutIsSkippedUnlessItWasAskedFor) {
  Bench bench(R"({"rdma":{"after":{}}})");
  EXPECT_EQ(judge_rdma(bench.input()).verdict, Verdict::skipped);
  bench.asked_by_name = true;
  EXPECT_EQ(judge_rdma(bench.input()).verdict, Verdict::inconclusive);
}

TEST(JudgeXid, AFatalOneFailsAnApplicationsDoesNotAndNoSourceIsNoData) {
  EXPECT_EQ(judge_xid(Bench(R"({"xid_sources":["kernel log"],"xids":[]})").input()).verdict,
            Verdict::passed);
  EXPECT_EQ(
      judge_xid(Bench(R"({"xid_sources":["kernel log"],"xids":[{"code":13,"pci":"x"}]})").input())
          .verdict,
      Verdict::passed);
  const CheckResult fatal = judge_xid(
      Bench(
          R"({"xid_sources":["kernel log"],"xids":[{"code":13,"pci":"x"},{"code":79,"pci":"0000:3b:00"}]})")
          .input());
  EXPECT_EQ(fatal.verdict, Verdict::failed);
  EXPECT_NE(fatal.text.find("XID 79 (GPU has fallen off the bus) on 0000:3b:00"), std::string::npos)
      << fatal.text;
  EXPECT_EQ(judge_xid(Bench(R"({"xid_sources":[],"xids":[]})").input()).verdict,
            Verdict::inconclusive);
}

}  // namespace
}  // namespace lockstep::gpu::judge_node_test

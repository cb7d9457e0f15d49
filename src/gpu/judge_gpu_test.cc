#include "gpu/judge_test_util.h"

namespace lockstep::gpu::judge_gpu_test {
namespace {

const GpuModel h200 = {"NVIDIA H200", 18, 3600, 31.5, 408};

Verdict ecc(std::string_view now, std::string_view then = "") {
  const Json gpu = json(now);
  const Json baseline = then.empty() ? Json() : json(then);
  return judge_ecc({gpu, then.empty() ? nullptr : &baseline, &h200}).verdict;
}

TEST(JudgeEcc, OldLifetimeCountsAloneNeverFail) {
  EXPECT_EQ(ecc(R"({"after":{"ecc":{"uncorrected_aggregate":9,"uncorrected_volatile":0}}})"),
            Verdict::passed);
}

TEST(JudgeEcc, UncorrectedSinceTheBaselineFail) {
  const char* now = R"({"after":{"ecc":{"uncorrected_aggregate":9,"uncorrected_volatile":0}}})";
  EXPECT_EQ(ecc(now, R"({"after":{"ecc":{"uncorrected_aggregate":8}}})"), Verdict::failed);
  EXPECT_EQ(ecc(now, R"({"after":{"ecc":{"uncorrected_aggregate":9}}})"), Verdict::passed);
}

TEST(JudgeEcc, UncorrectedDuringTheGateFailWithoutABaselineToo) {
  EXPECT_EQ(ecc(R"({"before":{"ecc":{"uncorrected_volatile":0}},
               "after":{"ecc":{"uncorrected_volatile":1,"uncorrected_aggregate":1}}})"),
            Verdict::failed);
}

TEST(JudgeEcc, UncorrectedSinceTheDriverWasLoadedAreForAPersonWithoutABaseline) {
  const char* now = R"({"after":{"ecc":{"uncorrected_aggregate":1,"uncorrected_volatile":1}}})";
  EXPECT_EQ(ecc(now), Verdict::inconclusive);
  EXPECT_EQ(ecc(now, R"({"after":{"ecc":{"uncorrected_aggregate":1}}})"), Verdict::passed);
}

TEST(JudgeEcc, RemapsAndRecoveryActionsFail) {
  EXPECT_EQ(
      ecc(R"({"after":{"ecc":{"uncorrected_aggregate":0,"remapped_rows":{"pending":true,"failed":false}}}})"),
      Verdict::failed);
  EXPECT_EQ(
      ecc(R"({"after":{"ecc":{"uncorrected_aggregate":0,"remapped_rows":{"pending":false,"failed":true}}}})"),
      Verdict::failed);
  EXPECT_EQ(ecc(R"({"after":{"ecc":{"uncorrected_aggregate":0,"recovery_action":1}}})"),
            Verdict::failed);
}

TEST(JudgeEcc, NoCountsAreInconclusiveErrorsAreErrorsAndALostGpuFails) {
  EXPECT_EQ(ecc(R"({"after":{"ecc":{}}})"), Verdict::inconclusive);
  EXPECT_EQ(ecc(R"({"after":{"ecc":{},"errors":["nvmlX: Unknown code 999"],"lost":false}})"),
            Verdict::error);
  EXPECT_EQ(ecc(R"({"after":{"ecc":{},"errors":["nvmlX: GPU is lost code 15"],"lost":true}})"),
            Verdict::failed);
}

struct SpeedCase {
  const char* about;
  double now;
  double then;  // 0: no baseline
  const GpuModel* model;
  Verdict verdict;
};

TEST(JudgeSpeed, ByBaselineAndByTheModelsFloor) {
  const SpeedCase cases[] = {
      {"as before", 4000, 4000, &h200, Verdict::passed},
      {"a little less", 3700, 4000, &h200, Verdict::passed},
      {"less than 0.9 of it", 3599, 4000, nullptr, Verdict::failed},
      {"unknown model, by its baseline", 3700, 4000, nullptr, Verdict::passed},
      {"no baseline, above the floor", 3700, 0, &h200, Verdict::passed},
      {"no baseline, below the floor", 3500, 0, &h200, Verdict::failed},
      {"a baseline that was slow already", 3500, 3500, &h200, Verdict::failed},
      {"unknown model, no baseline", 4000, 0, nullptr, Verdict::inconclusive},
  };
  for (const SpeedCase& c : cases) {
    const Json gpu = JsonObject{
        {"memory",
         JsonObject{{"gigabytes_per_second", c.now}, {"wrong_cells", 0}, {"tested_bytes", 1e9}}}};
    const Json baseline = JsonObject{{"memory", JsonObject{{"gigabytes_per_second", c.then}}}};
    EXPECT_EQ(judge_memory({gpu, c.then > 0 ? &baseline : nullptr, c.model}).verdict, c.verdict)
        << c.about;
  }
}

TEST(JudgeSpeed, AnUnknownModelIsStillWrongWhenItIsWrong) {
  const Json gpu =
      json(R"({"memory":{"gigabytes_per_second":1,"wrong_cells":1,"first_wrong_byte":16},
                            "inference":{"tflops":1,"wrong_rows":2,"size":4096},
                            "pcie":{"to_gpu_gigabytes_per_second":1,
                                    "to_host_gigabytes_per_second":1,"wrong_cells":1}})");
  EXPECT_EQ(judge_memory({gpu}).verdict, Verdict::failed);
  EXPECT_EQ(judge_inference({gpu}).verdict, Verdict::failed);
  EXPECT_EQ(judge_pcie({gpu}).verdict, Verdict::failed);
}

TEST(JudgeSpeed, AnotherKernelIsNotComparedWithTheBaseline) {
  const Json gpu =
      json(R"({"inference":{"tflops":300,"wrong_rows":0,"kernel":"product_sm80","size":4096}})");
  const Json baseline = json(R"({"inference":{"tflops":700,"kernel":"product_sm90","size":4096}})");
  EXPECT_EQ(judge_inference({gpu, &baseline}).verdict, Verdict::inconclusive);
}

TEST(JudgeSpeed, TheFloorOfInferenceIsOfTheUsualKernelAlone) {
  const Json usual = json(R"({"inference":{"tflops":350,"wrong_rows":0,"usual":true}})");
  const Json other = json(R"({"inference":{"tflops":350,"wrong_rows":0,"usual":false}})");
  EXPECT_EQ(judge_inference({usual, nullptr, &h200}).verdict, Verdict::failed);
  EXPECT_EQ(judge_inference({other, nullptr, &h200}).verdict, Verdict::inconclusive);
}

TEST(JudgeSpeed, OneSlowDirectionFailsTheLink) {
  const Json gpu = json(
      R"({"pcie":{"to_gpu_gigabytes_per_second":55,"to_host_gigabytes_per_second":20,"wrong_cells":0}})");
  EXPECT_EQ(judge_pcie({gpu, nullptr, &h200}).verdict, Verdict::failed);
}

Verdict nvlink(std::string_view now, std::string_view then = "", size_t gpus = 2) {
  const Json gpu = json(now);
  const Json baseline = then.empty() ? Json() : json(then);
  return judge_nvlink({gpu, then.empty() ? nullptr : &baseline, nullptr, false, gpus}).verdict;
}

TEST(JudgeNvlink, ByTheBaselinesLinks) {
  const char* both =
      R"({"after":{"nvlink":{"links":[{"link":0,"active":true,"crc_errors":5},{"link":1,"active":true}]}}})";
  const char* one =
      R"({"after":{"nvlink":{"links":[{"link":0,"active":true,"crc_errors":5},{"link":1,"active":false}]}}})";
  const char* fewer_errors =
      R"({"after":{"nvlink":{"links":[{"link":0,"active":true,"crc_errors":4},{"link":1,"active":true}]}}})";
  EXPECT_EQ(nvlink(both, both), Verdict::passed);
  EXPECT_EQ(nvlink(one, both), Verdict::failed);
  EXPECT_EQ(nvlink(one, one), Verdict::passed);
  EXPECT_EQ(nvlink(both, fewer_errors), Verdict::failed);
  EXPECT_EQ(nvlink(one), Verdict::inconclusive);
}

TEST(JudgeNvlink, TheFabricMustBeUpAndItsCliqueTheSame) {
  const std::string links = R"({"after":{"nvlink":{"links":[{"link":0,"active":true}],"fabric":)";
  EXPECT_EQ(nvlink(links + R"({"state":3,"status":0,"clique":1}}}})"), Verdict::passed);
  EXPECT_EQ(nvlink(links + R"({"state":2,"status":0,"clique":1}}}})"), Verdict::failed);
  EXPECT_EQ(nvlink(links + R"({"state":3,"status":15,"clique":1}}}})"), Verdict::failed);
  EXPECT_EQ(nvlink(links + R"({"state":3,"status":0,"clique":1}}}})",
                   links + R"({"state":3,"status":0,"clique":2}}}})"),
            Verdict::failed);
}

TEST(JudgeNvlink, NoLinkAtAllFailsOnlyWhereThereShouldBeSome) {
  const Json none = json(R"({"after":{"nvlink":{"links":[]}}})");
  EXPECT_EQ(judge_nvlink({none, nullptr, &h200, false, 8}).verdict, Verdict::failed);
  EXPECT_EQ(judge_nvlink({none, nullptr, &h200, false, 1}).verdict, Verdict::skipped);
  EXPECT_EQ(judge_nvlink({none, nullptr, nullptr, false, 8}).verdict, Verdict::skipped);
  EXPECT_EQ(judge_nvlink({none, nullptr, nullptr, true, 8}).verdict, Verdict::inconclusive);
}

TEST(JudgeThrottle, OnlyTheHardwaresOwnSlowdownsFail) {
  auto throttle = [](std::string_view text) {
    const Json gpu = json(text);
    return judge_throttle({gpu}).verdict;
  };
  EXPECT_EQ(throttle(R"({"clocks":{"samples":5,"reasons":4}})"), Verdict::passed);
  EXPECT_EQ(throttle(R"({"clocks":{"samples":5,"reasons":8}})"), Verdict::failed);
  EXPECT_EQ(throttle(R"({"clocks":{"samples":5,"reasons":64}})"), Verdict::failed);
  EXPECT_EQ(throttle(R"({"clocks":{"samples":5,"reasons":128}})"), Verdict::failed);
  EXPECT_EQ(throttle(R"({"clocks":{"samples":0,"reasons":0}})"), Verdict::inconclusive);
}

TEST(JudgeTraining, TheToleranceIsOnTheLoss) {
  auto training = [](double deviation) {
    const Json gpu = JsonObject{{"training", JsonObject{{"finite", true},
                                                        {"same_in_both_runs", true},
                                                        {"largest_deviation", deviation}}}};
    return judge_training({gpu}).verdict;
  };
  EXPECT_EQ(training(1e-6), Verdict::passed);
  EXPECT_EQ(training(2e-3), Verdict::failed);
}

}  // namespace
}  // namespace lockstep::gpu::judge_gpu_test

#include "gpu/fake_test_util.h"
#include "gpu/judge.h"
#include "gpu/measure.h"
#include "gpu/product_reference.h"

namespace lockstep::gpu::measure_inference_test {
namespace {

JsonObject measured(const std::string& scenario, MeasureOptions options = {}) {
  FakeCuda fake(scenario);
  options.product_size = 256;
  static const std::vector<double> sums = reference_sums(256, 256, 256);
  auto facts = measure_inference(fake.device(), [](unsigned) { return sums; }, options);
  EXPECT_TRUE(facts.has_value()) << facts.error().text();
  return facts ? *facts : JsonObject();
}

CheckResult judged(const std::string& scenario, const MeasureOptions& options = {}) {
  const Json gpu = JsonObject{{"inference", measured(scenario, options)}};
  const Json before = JsonObject{{"inference", measured("gpus 1\n")}};
  return judge_inference({gpu, &before});
}

TEST(MeasureInference, AGoodGpuComputesWhatTheCpuDoes) {
  const CheckResult result = judged("gpus 1\n");
  EXPECT_EQ(result.verdict, Verdict::passed) << result.text;
  EXPECT_EQ(as_text(result.measured.if_contains("kernel")), "product_sm90");
  EXPECT_NEAR(result.measured.if_contains("tflops")->as_double(), 600, 1);
}

TEST(MeasureInference, OneWrongElementIsFound) {
  const CheckResult result = judged("wrong_product 1\n");
  EXPECT_EQ(result.verdict, Verdict::failed);
  EXPECT_EQ(as_integer(result.measured.if_contains("wrong_rows")), 1);
}

TEST(MeasureInference, TheTestSwitchIsCaught) {
  MeasureOptions options;
  options.wrong = "inference";
  EXPECT_EQ(judged("gpus 1\n", options).verdict, Verdict::failed);
}

TEST(MeasureInference, SlowerThanTheBaselineFails) {
  EXPECT_EQ(judged("tflops 560\n").verdict, Verdict::failed);
  EXPECT_EQ(judged("tflops 580\n").verdict, Verdict::passed);
}

TEST(MeasureInference, EveryVersionOfTheKernelIsRight) {
  for (const char* capability :
       {"capability 75\n", "capability 86\n", "capability 90\n", "capability 100\n"})
    EXPECT_EQ(as_integer(measured(capability).if_contains("wrong_rows")), 0) << capability;
}

TEST(MeasureInference, ADriverThatDoesNotKnowTheNewestInstructionsGetsTheVersionBefore) {
  const JsonObject facts = measured("old_driver 1\n");
  EXPECT_EQ(as_text(facts.if_contains("kernel")), "product_sm80");
  EXPECT_EQ(as_integer(facts.if_contains("wrong_rows")), 0);
}

}  // namespace
}  // namespace lockstep::gpu::measure_inference_test

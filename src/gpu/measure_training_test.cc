#include "gpu/fake_test_util.h"
#include "gpu/judge.h"
#include "gpu/measure.h"

namespace lockstep::gpu::measure_training_test {
namespace {

const Training& reference() {
  static const Training training = [] {
    Training made;
    made.data = training_data();
    made.losses = reference_losses(made.data, training_steps, learning_rate);
    return made;
  }();
  return training;
}

CheckResult judged(const std::string& scenario, const MeasureOptions& options = {}) {
  FakeCuda fake(scenario);
  auto facts = measure_training(fake.device(), reference(), options);
  EXPECT_TRUE(facts.has_value()) << facts.error().text();
  if (!facts) return {};
  const Json gpu = JsonObject{{"training", *facts}};
  return judge_training({gpu});
}

TEST(MeasureTraining, AGoodGpuLearnsAsTheCpuDoes) {
  const CheckResult result = judged("gpus 1\n");
  EXPECT_EQ(result.verdict, Verdict::passed) << result.text;
  EXPECT_EQ(as_integer(result.measured.if_contains("processors")), 4);
}

TEST(MeasureTraining, AWrongWeightIsFound) {
  EXPECT_EQ(judged("wrong_training 1\n").verdict, Verdict::failed);
}

TEST(MeasureTraining, ANumberThatIsNoneIsFound) {
  const CheckResult result = judged("nan_training 1\n");
  EXPECT_EQ(result.verdict, Verdict::failed);
  EXPECT_NE(result.text.find("not a number"), std::string::npos);
}

TEST(MeasureTraining, TwoRunsThatDifferByABitAreFound) {
  const CheckResult result = judged("unsteady_training 1\n");
  EXPECT_EQ(result.verdict, Verdict::failed);
  EXPECT_NE(result.text.find("two runs"), std::string::npos);
}

TEST(MeasureTraining, TheTestSwitchIsCaught) {
  MeasureOptions options;
  options.wrong = "training";
  EXPECT_EQ(judged("gpus 1\n", options).verdict, Verdict::failed);
}

TEST(MeasureTraining, ABrokenLaunchIsTheGpusFailure) {
  FakeCuda fake("fail cuEventSynchronize 700\n");
  auto facts = measure_training(fake.device(), reference(), {});
  ASSERT_FALSE(facts.has_value());
  EXPECT_EQ(facts.error().kind, gpu_failure);
  EXPECT_NE(facts.error().message.find("train_network"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::gpu::measure_training_test

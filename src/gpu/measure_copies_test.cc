#include "gpu/fake_test_util.h"
#include "gpu/judge.h"
#include "gpu/measure.h"

namespace lockstep::gpu::measure_copies_test {
namespace {

MeasureOptions small() {
  MeasureOptions options;
  options.copy_bytes = 1 << 20;
  return options;
}

CheckResult judged(const std::string& scenario) {
  static const GpuModel model = {"NVIDIA H200", 18, 3600, 30, 400};
  FakeCuda fake(scenario);
  auto facts = measure_pcie(fake.device(), small());
  EXPECT_TRUE(facts.has_value()) << facts.error().text();
  if (!facts) return {};
  const Json gpu = JsonObject{{"pcie", *facts}};
  return judge_pcie({gpu, nullptr, &model});
}

TEST(MeasureCopies, HostAndGpuBothWays) {
  const CheckResult result = judged("gpus 1\n");
  EXPECT_EQ(result.verdict, Verdict::passed) << result.text;
  EXPECT_NEAR(result.measured.if_contains("to_gpu_gigabytes_per_second")->as_double(), 55, 0.1);
}

TEST(MeasureCopies, AWrongByteEitherWayIsFound) {
  EXPECT_EQ(judged("flip_upload 1\n").verdict, Verdict::failed);
  EXPECT_EQ(judged("flip_download 1\n").verdict, Verdict::failed);
}

TEST(MeasureCopies, ASlowLinkIsFound) { EXPECT_EQ(judged("pcie 20\n").verdict, Verdict::failed); }

Result<JsonArray> peers(const std::string& scenario) {
  FakeCuda fake(scenario);
  return measure_peers(fake.devices, {"GPU-fake-0", "GPU-fake-1", "GPU-fake-2"}, small());
}

TEST(MeasureCopies, EveryPairIsCopiedAndChecked) {
  auto pairs = peers("gpus 3\n");
  ASSERT_TRUE(pairs.has_value()) << pairs.error().text();
  ASSERT_EQ(pairs->size(), 6U);
  for (const Json& pair : *pairs) EXPECT_EQ(as_integer(find(pair, "wrong_cells")), 0);
}

TEST(MeasureCopies, AWrongByteBetweenTwoGpusIsFoundWithThePair) {
  auto pairs = peers("gpus 3\n1.flip_peer 1\n");
  ASSERT_TRUE(pairs.has_value()) << pairs.error().text();
  for (const Json& pair : *pairs)
    EXPECT_EQ(as_integer(find(pair, "wrong_cells")), text_at(pair, "from") == "GPU-fake-1" ? 1 : 0);
}

}  // namespace
}  // namespace lockstep::gpu::measure_copies_test

#include "gpu/nvml.h"

#include "gpu/fake_test_util.h"

namespace lockstep::gpu::nvml_test {
namespace {

TEST(Nvml, ALibraryWithoutSymbolsIsNoDriverAndTheSymbolIsNamed) {
  FakeGpu fake;
  auto nvml = Nvml::open({HOLLOW_DRIVER, ""}, fake.reporter);
  ASSERT_FALSE(nvml.has_value());
  EXPECT_EQ(nvml.error().kind, ErrorKind::not_found);
  EXPECT_NE(nvml.error().message.find("nvmlInit_v2"), std::string::npos);
}

TEST(Nvml, EveryCallIsAnnouncedBeforeItIsMade) {
  FakeGpu fake;
  auto nvml = Nvml::open(fake.places, fake.reporter);
  ASSERT_TRUE(nvml.has_value()) << nvml.error().text();
  EXPECT_EQ(nvml->call("nvmlInit_v2"), nvml_abi::success);
  EXPECT_EQ(fake.lines.back(), R"({"call":"nvmlInit_v2"})");
}

TEST(Nvml, AFunctionThatTheLibraryLacksAnswersLikeOneThatIsNotSupported) {
  FakeGpu fake;
  auto nvml = Nvml::open(fake.places, fake.reporter);
  ASSERT_TRUE(nvml.has_value());
  EXPECT_EQ(nvml->call("nvmlNoSuchThing"), nvml_abi::symbol_missing);
}

TEST(Nvml, ALostGpuIsAFailureOfTheGpu) {
  FakeGpu fake;
  auto nvml = Nvml::open(fake.places, fake.reporter);
  ASSERT_TRUE(nvml.has_value());
  EXPECT_EQ(nvml->error_of("nvmlX", nvml_abi::gpu_is_lost).kind, gpu_failure);
  EXPECT_EQ(nvml->error_of("nvmlX", nvml_abi::gpu_is_lost).message, "nvmlX: GPU is lost (code 15)");
  EXPECT_NE(nvml->error_of("nvmlX", 999).kind, gpu_failure);
}

}  // namespace
}  // namespace lockstep::gpu::nvml_test

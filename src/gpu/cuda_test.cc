#include "gpu/cuda.h"

#include "gpu/fake_test_util.h"
#include "gpu/kernels.h"

namespace lockstep::gpu::cuda_test {
namespace {

TEST(Cuda, ALibraryWithoutSymbolsIsRefusedByName) {
  FakeGpu fake;
  auto cuda = Cuda::open({HOLLOW_DRIVER, ""}, fake.reporter);
  ASSERT_FALSE(cuda.has_value());
  EXPECT_NE(cuda.error().message.find("cuInit"), std::string::npos);
}

TEST(Cuda, AMissingFunctionIsAnErrorOfThatCallAlone) {
  FakeCuda fake;
  auto missing = fake.cuda->call("cuNoSuchThing");
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().kind, ErrorKind::unsupported);
  EXPECT_TRUE(fake.device().wait().has_value());
}

TEST(Cuda, AGpuThatBreaksOffALaunchHasFailedAndTheKernelIsNamed) {
  FakeCuda fake("fail cuCtxSynchronize 719\n");
  ASSERT_TRUE(fake.device().load("memory", memory_ptx).has_value());
  auto function = fake.device().function("memory", "memory_copy");
  ASSERT_TRUE(function.has_value());
  char bytes[16] = {};
  char* from = &bytes[0];
  char* to = &bytes[0];
  unsigned long long count = 0;
  void* arguments[] = {&from, &to, &count};
  ASSERT_TRUE(fake.cuda->launch(*function, "memory_copy", 1, 32, 0, arguments).has_value());
  auto waited = fake.device().wait();
  ASSERT_FALSE(waited.has_value());
  EXPECT_EQ(waited.error().kind, gpu_failure);
  EXPECT_EQ(waited.error().message,
            "cuCtxSynchronize after memory_copy: CUDA_ERROR_LAUNCH_FAILED (code 719)");
}

TEST(Cuda, OutOfMemoryIsNoFailureOfTheGpu) {
  FakeCuda fake("fail cuMemAlloc_v2 2\n");
  auto memory = fake.device().allocate(1024);
  ASSERT_FALSE(memory.has_value());
  EXPECT_EQ(memory.error().kind, ErrorKind::too_large);
}

TEST(Cuda, TheDeviceSaysWhatItIs) {
  FakeCuda fake("capability 86\n");
  EXPECT_EQ(fake.device().capability(), 86);
  EXPECT_GT(fake.device().processors(), 0);
}

}  // namespace
}  // namespace lockstep::gpu::cuda_test

#include "dra/nvml_process.h"

#include <gtest/gtest.h>

#include "world/virtual_loop.h"

namespace lockstep::dra::nvml_process_test {
namespace {

struct NvmlProcessTest : ::testing::Test, Processes {
  Result<ProcessOutput> run(const ProcessSpec&) override {
    return fail(ErrorKind::unsupported, "not here");
  }
  void start(ProcessSpec asked, Loop&, std::function<void(Result<ProcessOutput>)> done) override {
    spec = std::move(asked);
    done(output);
  }
  Result<Inventory> ask() {
    NvmlProcess probe(*this, loop, {{}, {"/bin/plugin", "nvml"}, seconds(3)});
    DriverState state;
    state.library_folder = "/driver/lib64";
    Result<Inventory> answer = fail(ErrorKind::internal, "none came");
    probe.ask(state, [&](Result<Inventory> inventory) { answer = std::move(inventory); });
    return answer;
  }

  VirtualLoop loop{1};
  ProcessSpec spec;
  Result<ProcessOutput> output = ProcessOutput{};
};

TEST_F(NvmlProcessTest, AsksTheLibraryOfTheStateWithinItsTime) {
  output = ProcessOutput{0, R"({"driverVersion":"580.1","gpus":[{"minor":0,"uuid":"a"}]})", ""};
  auto inventory = ask();
  ASSERT_TRUE(inventory) << inventory.error().text();
  EXPECT_EQ(inventory->gpus.size(), 1u);
  EXPECT_EQ(spec.command, (std::vector<std::string>{"/bin/plugin", "nvml", "/driver/lib64"}));
  EXPECT_EQ(spec.limit, seconds(3));
}

TEST_F(NvmlProcessTest, AnEndWithoutAnAnswerIsAnError) {
  output = ProcessOutput{139, "", "Segmentation fault"};
  EXPECT_EQ(ask().error().kind, ErrorKind::internal);
  output = ProcessOutput{0, "half an ans", ""};
  EXPECT_EQ(ask().error().kind, ErrorKind::internal);
  output = fail(ErrorKind::timed_out, "killed");
  EXPECT_EQ(ask().error().kind, ErrorKind::timed_out);
}

TEST_F(NvmlProcessTest, TheProcessSaysThatThereIsNoLibrary) {
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(run_nvml_process("/no/such/folder"), 0);
  auto answer = read_inventory(::testing::internal::GetCapturedStdout());
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind, ErrorKind::not_found);
}

}  // namespace
}  // namespace lockstep::dra::nvml_process_test

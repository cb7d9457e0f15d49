#include "dra/time_slicer.h"

#include <filesystem>
#include <optional>

#include <gtest/gtest.h>

#include "world/directories_test_util.h"
#include "world/event_loop.h"
#include "world/files.h"

namespace lockstep::dra::time_slicer_test {
namespace {

struct TimeSlicerTest : ::testing::Test {
  // What nvidia-smi does; its words go into a file.
  void write_smi(const std::string& more) const {
    folder.write("usr/bin/nvidia-smi",
                 "#!/bin/sh\necho \"$@\" >> " + (folder / "words") + "\n" + more + "\n");
    std::filesystem::permissions(folder / "usr/bin/nvidia-smi", std::filesystem::perms::owner_all);
  }
  Result<void> set(TimeSlice slice, Duration limit = seconds(10)) {
    DriverState driver;
    driver.library_folder = folder / "usr/lib64";
    std::optional<Result<void>> answer;
    slicer.set(driver, "GPU-1", slice, limit, [&](Result<void> came) { answer = std::move(came); });
    EXPECT_TRUE(loop.run_until([&] { return answer.has_value(); }, seconds(60)));
    return answer.value_or(fail(ErrorKind::internal, "no answer"));
  }

  lockstep::testing::TemporaryDirectory folder;
  EventLoop loop;
  SystemProcesses processes;
  SmiTimeSlicer slicer{processes, loop};
};

TEST_F(TimeSlicerTest, TellsNvidiaSmiTheGpuAndTheNumber) {
  write_smi("");
  for (TimeSlice slice :
       {TimeSlice::usual, TimeSlice::brief, TimeSlice::medium, TimeSlice::extended}) {
    EXPECT_TRUE(set(slice));
  }
  EXPECT_EQ(SystemFiles().read(folder / "words").value_or(""),
            "compute-policy -i GPU-1 --set-timeslice 0\n"
            "compute-policy -i GPU-1 --set-timeslice 1\n"
            "compute-policy -i GPU-1 --set-timeslice 2\n"
            "compute-policy -i GPU-1 --set-timeslice 3\n");
}

TEST_F(TimeSlicerTest, OneThatIsNotThereRefusesOrHangsIsAnError) {
  auto missing = set(TimeSlice::brief);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::not_found);
  write_smi("exit 4");
  auto refused = set(TimeSlice::brief);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "nvidia-smi ended with code 4");
  write_smi("exec sleep 60");
  auto hung = set(TimeSlice::brief, milliseconds(300));
  ASSERT_FALSE(hung);
  EXPECT_EQ(hung.error().kind, ErrorKind::timed_out);
}

TEST(TimeSlicerPaths, ADriversProgramsLieBesideItsLibraries) {
  EXPECT_EQ(smi_paths("/run/nvidia/driver/usr/lib/x86_64-linux-gnu").front(),
            "/run/nvidia/driver/usr/bin/nvidia-smi");
  EXPECT_EQ(smi_paths("/usr/lib64").front(), "/usr/bin/nvidia-smi");
  EXPECT_EQ(smi_paths("/home/kubernetes/bin/nvidia/lib64").back(),
            "/home/kubernetes/bin/nvidia/bin/nvidia-smi");
}

}  // namespace
}  // namespace lockstep::dra::time_slicer_test

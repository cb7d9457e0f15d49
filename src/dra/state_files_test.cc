#include "dra/state_files.h"

#include <sys/stat.h>

#include <gtest/gtest.h>

#include "world/directories.h"
#include "world/directories_test_util.h"

namespace lockstep::dra::state_files_test {
namespace {

struct StateFilesTest : ::testing::Test {
  std::string path(const std::string& name) const { return folder / name; }
  lockstep::testing::TemporaryDirectory folder;
  SystemStateFiles files;
};

TEST_F(StateFilesTest, AppendsToWhatIsThereAndMakesNoFile) {
  EXPECT_FALSE(files.append(path("a"), "x"));
  EXPECT_FALSE(files.exists(path("a")));
  ASSERT_TRUE(files.write(path("a"), "one\n", 0600));
  auto before = files.fingerprint(path("a"));
  ASSERT_TRUE(files.append(path("a"), "two\n"));
  EXPECT_EQ(files.read(path("a")).value_or(""), "one\ntwo\n");
  EXPECT_NE(files.fingerprint(path("a")).value_or(""), before.value_or(""));
}

TEST_F(StateFilesTest, ADiskThatIsFullLeavesNoHalfLine) {
  // Every write to it fails for lack of space.
  EXPECT_FALSE(files.append("/dev/full", "two\n"));
}

TEST_F(StateFilesTest, ReplacesAsAWholeWithItsModeAndLeavesNothingBeside) {
  ASSERT_TRUE(files.write_unsynced(path("spec"), "old", 0644));
  ASSERT_TRUE(files.write_unsynced(path("spec"), "new", 0600));
  EXPECT_EQ(files.read(path("spec")).value_or(""), "new");
  struct stat info{};
  ASSERT_EQ(stat(path("spec").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_FALSE(files.write_unsynced(path("none/spec"), "x", 0644));
  ASSERT_TRUE(make_directories(path("folder/in it")));
  EXPECT_FALSE(files.write_unsynced(path("folder"), "x", 0644));
  EXPECT_EQ(list_directory(folder.path).value_or(std::vector<std::string>()).size(), 2u);
}

}  // namespace
}  // namespace lockstep::dra::state_files_test

#include "world/replace_file.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/stat.h>

#include <gtest/gtest.h>

#include "world/directories_test_util.h"

namespace lockstep::replace_file_test {
namespace {

std::string text_of(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

class ReplaceFile : public ::testing::TestWithParam<Durability> {
 protected:
  static size_t entries(const std::string& path) {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(path), {}));
  }
};

TEST_P(ReplaceFile, PutsTheWholeContentInPlaceAndLeavesNothingElse) {
  testing::TemporaryDirectory folder;
  const std::string path = folder / "file";
  ASSERT_TRUE(replace_file(path, path, "one", 0600, GetParam()));
  ASSERT_TRUE(replace_file(path, path, "two", 0640, GetParam()));
  EXPECT_EQ(text_of(path), "two");
  struct stat info{};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0640U);
  EXPECT_EQ(entries(folder.path), 1U);
}

TEST_P(ReplaceFile, AFailureLeavesWhatWasThereAndNamesIt) {
  testing::TemporaryDirectory folder;
  const std::string path = folder / "folder";
  std::filesystem::create_directory(path);
  auto replaced = replace_file(path, "the name", "one", 0600, GetParam());
  ASSERT_FALSE(replaced);
  EXPECT_NE(replaced.error().message.find("the name"), std::string::npos);
  EXPECT_TRUE(std::filesystem::is_directory(path));
  EXPECT_EQ(entries(folder.path), 1U) << "no temporary file";
  EXPECT_FALSE(replace_file(folder / "none/file", "f", "one", 0600, GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Durabilities, ReplaceFile,
                         ::testing::Values(Durability::on_disk, Durability::in_memory));

}  // namespace
}  // namespace lockstep::replace_file_test

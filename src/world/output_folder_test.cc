#include "world/output_folder.h"

#include <filesystem>
#include <sys/stat.h>

#include <gtest/gtest.h>

#include "world/directories.h"
#include "world/directories_test_util.h"

namespace lockstep::output_folder_test {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryDirectory;

std::string content_of(const std::string& path) { return SystemFiles().read(path).value_or(""); }

void expect_link_refused(const Result<void>& written, const std::string& path) {
  ASSERT_FALSE(written) << path;
  EXPECT_EQ(written.error().kind, ErrorKind::invalid);
  EXPECT_NE(written.error().text().find(path + ": it is a symbolic link"), std::string::npos)
      << written.error().text();
}

TEST(WriteOutput, WritesAndReplacesAFile) {
  const TemporaryDirectory directory;
  ASSERT_TRUE(write_output(directory / "file", "one", 0600));
  ASSERT_TRUE(write_output(directory / "file", "two", 0600));
  EXPECT_EQ(content_of(directory / "file"), "two");
  struct stat info{};
  ASSERT_EQ(stat((directory / "file").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
  EXPECT_TRUE(write_output("/dev/null", "two"));
  EXPECT_FALSE(write_output(directory / "missing/file", "two"));
  EXPECT_EQ(list_directory(directory.path)->size(), 1U) << "nothing is left beside it";
}

TEST(WriteOutput, RefusesALinkWhereverItLeads) {
  const TemporaryDirectory directory;
  directory.write("victim", "precious");
  for (const std::string& to : {directory / "victim", std::string("victim"), directory / "nowhere",
                                std::string("/dev/null")}) {
    fs::create_symlink(to, directory / "out");
    expect_link_refused(write_output(directory / "out", "bad"), directory / "out");
    EXPECT_TRUE(fs::is_symlink(directory / "out"));
    fs::remove(directory / "out");
  }
  EXPECT_EQ(content_of(directory / "victim"), "precious");
  EXPECT_FALSE(fs::exists(directory / "nowhere"));
}

TEST(WriteOutput, ADirectoryAboveMayBeALink) {
  const TemporaryDirectory directory;
  fs::create_directory(directory / "real");
  fs::create_symlink("real", directory / "mine");
  ASSERT_TRUE(write_output(directory / "mine/file", "x"));
  EXPECT_EQ(content_of(directory / "real/file"), "x");
}

TEST(OutputFolder, WritesFilesBelowIt) {
  const TemporaryDirectory directory;
  const auto folder = OutputFolder::open(directory / "a/b");
  ASSERT_TRUE(folder);
  ASSERT_TRUE(folder->write("top", "1"));
  ASSERT_TRUE(folder->write("x/y/z", "2"));
  ASSERT_TRUE(folder->write("x/y/z", "3"));
  EXPECT_EQ(read_tree(directory.path).value(), (TreeTexts{{"a/b/top", "1"}, {"a/b/x/y/z", "3"}}));
  EXPECT_EQ(folder->read("x/y/z").value(), "3");
  EXPECT_EQ(folder->read("x/missing").error().kind, ErrorKind::not_found);
  EXPECT_EQ(folder->read("missing/z").error().kind, ErrorKind::not_found);
  for (const char* bad : {"", "/etc/x", "../x", "x/../../y", "x//y", "x/."}) {
    EXPECT_FALSE(folder->write(bad, "bad")) << bad;
  }
}

TEST(OutputFolder, RefusesLinksInsideOnTheWayAndAtTheEnd) {
  const TemporaryDirectory outside;
  outside.write("victim", "precious");
  const TemporaryDirectory directory;
  fs::create_symlink(outside.path, directory / "x");
  fs::create_directory(directory / "y");
  fs::create_symlink(outside / "victim", directory / "y/file");
  fs::create_symlink(outside.path, directory / "y/deep");
  const auto folder = OutputFolder::open(directory.path);
  ASSERT_TRUE(folder);
  expect_link_refused(folder->write("x/victim", "bad"), directory / "x");
  expect_link_refused(folder->write("y/file", "bad"), directory / "y/file");
  expect_link_refused(folder->write("y/deep/victim", "bad"), directory / "y/deep");
  EXPECT_FALSE(folder->read("x/victim"));
  EXPECT_FALSE(folder->read("y/file"));
  EXPECT_EQ(read_tree(outside.path).value(), (TreeTexts{{"victim", "precious"}}));
}

}  // namespace
}  // namespace lockstep::output_folder_test

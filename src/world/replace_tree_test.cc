#include <algorithm>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <gtest/gtest.h>

#include "world/descriptor.h"
#include "world/directories.h"
#include "world/directories_test_util.h"

namespace lockstep::replace_tree_test {
namespace {

using testing::TemporaryDirectory;

const Tree first = {{"001-a/install.sh", {"#!/bin/sh\n", true}},
                    {"001-a/templates/x.yaml", {"x: 1\n", false}},
                    {"checksums.txt", {"abc\n", false}}};
const Tree second = {{"002-b/values.yaml", {"{}\n", false}}, {"checksums.txt", {"def\n", false}}};

bool has_checksums(const std::vector<std::string>& names) {
  return std::find(names.begin(), names.end(), "checksums.txt") != names.end();
}

Result<void> replace(const std::string& target, const Tree& files) {
  return replace_tree(target, files, has_checksums);
}

std::vector<std::string> names_in(const std::string& path) { return list_directory(path).value(); }

TEST(ReplaceTree, WritesWithMissingParents) {
  const TemporaryDirectory directory;
  const auto written = replace(directory / "x/y/out/", first);
  ASSERT_TRUE(written.has_value()) << written.error().text();
  EXPECT_EQ(read_tree_with_modes(directory / "x/y/out").value(), first);
  EXPECT_EQ(names_in(directory / "x/y"), (std::vector<std::string>{"out"}));
}

TEST(ReplaceTree, ReplacesAllOfTheOldOne) {
  const TemporaryDirectory directory;
  ASSERT_TRUE(replace(directory / "out", first).has_value());
  ASSERT_EQ(chmod((directory / "out").c_str(), 0750), 0);
  ASSERT_TRUE(replace(directory / "out", second).has_value());
  EXPECT_EQ(read_tree_with_modes(directory / "out").value(), second);
  EXPECT_EQ(names_in(directory.path), (std::vector<std::string>{"out"}));
  struct stat info{};
  ASSERT_EQ(stat((directory / "out").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0750U) << "who could look into it still can, and nobody else";
}

// A program inside the old directory continues to read it whole: it was exchanged, not overwritten.
TEST(ReplaceTree, ExchangesInOneStep) {
  const TemporaryDirectory directory;
  ASSERT_TRUE(replace(directory / "out", first).has_value());
  struct stat before{};
  struct stat after{};
  ASSERT_EQ(stat((directory / "out").c_str(), &before), 0);
  const Descriptor held(open((directory / "out").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_TRUE(replace(directory / "out", second).has_value());
  ASSERT_EQ(stat((directory / "out").c_str(), &after), 0);
  EXPECT_NE(before.st_ino, after.st_ino);
}

TEST(ReplaceTree, AnEmptyDirectoryIsFree) {
  const TemporaryDirectory directory;
  std::filesystem::create_directory(directory / "out");
  ASSERT_TRUE(
      replace_tree(directory / "out", first, [](const auto&) { return false; }).has_value());
  EXPECT_EQ(read_tree_with_modes(directory / "out").value(), first);
}

TEST(ReplaceTree, WhatIsNotOursIsRefused) {
  const TemporaryDirectory directory;
  for (const char* name : {"out/a", "out/b", "out/c", "out/d"}) directory.write(name, "precious");
  const auto written = replace(directory / "out", first);
  ASSERT_FALSE(written.has_value());
  EXPECT_EQ(written.error().kind, ErrorKind::exists);
  EXPECT_NE(written.error().text().find("(a, b, c, ...)"), std::string::npos)
      << written.error().text();
  EXPECT_EQ(names_in(directory / "out").size(), 4U);
  EXPECT_EQ(names_in(directory.path).size(), 1U);
}

TEST(ReplaceTree, AFileIsNoDirectory) {
  const TemporaryDirectory directory;
  directory.write("out", "precious");
  const auto written = replace(directory / "out", first);
  ASSERT_FALSE(written.has_value());
  EXPECT_NE(written.error().text().find("it is no directory"), std::string::npos);
  EXPECT_FALSE(replace(directory / "out/below", first).has_value());
  EXPECT_EQ(SystemFiles().read(directory / "out").value(), "precious");
}

TEST(ReplaceTree, ALinkStaysOneAndWhatItPointsToIsReplaced) {
  const TemporaryDirectory directory;
  ASSERT_TRUE(replace(directory / "real/out", first).has_value());
  std::filesystem::create_symlink("real/out", directory / "link");
  ASSERT_TRUE(replace(directory / "link", second).has_value());
  EXPECT_TRUE(std::filesystem::is_symlink(directory / "link"));
  EXPECT_EQ(read_tree_with_modes(directory / "real/out").value(), second);
  std::filesystem::create_symlink("nowhere", directory / "dangling");
  EXPECT_FALSE(replace(directory / "dangling", second).has_value());
}

TEST(ReplaceTree, NoPathLeadsOut) {
  const TemporaryDirectory directory;
  for (const char* path : {"/etc/x", "../x", "a/../../x", "a//x", "", ".", "a/", ".git/hooks/x",
                           ".lockstep-tree-1-1/x"}) {
    const auto written = replace(directory / "out", {{path, {"x", false}}});
    ASSERT_FALSE(written.has_value()) << path;
    EXPECT_EQ(written.error().kind, ErrorKind::invalid);
  }
  EXPECT_FALSE(replace("", first).has_value());
  EXPECT_TRUE(names_in(directory.path).empty());
}

// A write that fails in the middle as on a full disk: no file may be larger than a few bytes.
class SmallFilesOnly {
 public:
  SmallFilesOnly() {
    before_ = std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &limit_);
    rlimit small = limit_;
    small.rlim_cur = 4096;
    setrlimit(RLIMIT_FSIZE, &small);
  }
  ~SmallFilesOnly() {
    setrlimit(RLIMIT_FSIZE, &limit_);
    std::signal(SIGXFSZ, before_);
  }

 private:
  rlimit limit_{};
  void (*before_)(int) = nullptr;
};

Tree too_large() {
  Tree files = second;
  files["large"] = {std::string(100'000, 'x'), false};
  return files;
}

TEST(ReplaceTree, AFullDiskLeavesTheOldOneAndNothingBeside) {
  const TemporaryDirectory directory;
  ASSERT_TRUE(replace(directory / "out", first).has_value());
  Result<void> written;
  {
    const SmallFilesOnly full;
    written = replace(directory / "out", too_large());
  }
  ASSERT_FALSE(written.has_value());
  EXPECT_EQ(written.error().kind, ErrorKind::internal);
  EXPECT_NE(written.error().text().find("cannot write large"), std::string::npos)
      << written.error().text();
  EXPECT_EQ(read_tree_with_modes(directory / "out").value(), first);
  EXPECT_EQ(names_in(directory.path), (std::vector<std::string>{"out"}));
}

TEST(ReplaceTree, AFailureTakesBackTheParentsThatItMade) {
  const TemporaryDirectory directory;
  Result<void> written;
  {
    const SmallFilesOnly full;
    written = replace(directory / "a/b/out", too_large());
  }
  EXPECT_FALSE(written.has_value());
  EXPECT_TRUE(names_in(directory.path).empty());
}

TEST(ReplaceTree, APathThatIsFileAndDirectoryFailsWhole) {
  const TemporaryDirectory directory;
  ASSERT_TRUE(replace(directory / "out", first).has_value());
  EXPECT_FALSE(replace(directory / "out", {{"a", {"", false}}, {"a/b", {"", false}}}).has_value());
  EXPECT_FALSE(replace(directory / "out", {{std::string(300, 'a'), {"", false}}}).has_value());
  EXPECT_EQ(read_tree_with_modes(directory / "out").value(), first);
  EXPECT_EQ(names_in(directory.path), (std::vector<std::string>{"out"}));
}

TEST(ReplaceTree, WithoutPermissionNothingChanges) {
  if (geteuid() == 0) GTEST_SKIP() << "root may everything";
  const TemporaryDirectory directory;
  ASSERT_TRUE(replace(directory / "out", first).has_value());
  ASSERT_EQ(chmod((directory / "out").c_str(), 0555), 0);
  ASSERT_EQ(chmod(directory.path.c_str(), 0555), 0);
  const auto written = replace(directory / "out", second);
  chmod(directory.path.c_str(), 0755);
  chmod((directory / "out").c_str(), 0755);
  ASSERT_FALSE(written.has_value());
  EXPECT_EQ(written.error().kind, ErrorKind::forbidden);
  EXPECT_EQ(read_tree_with_modes(directory / "out").value(), first);
}

TEST(ReplaceTree, WhatKilledRunsLeftIsRemovedAndWhatLivingOnesAreAtIsNot) {
  const TemporaryDirectory directory;
  directory.write(".lockstep-tree-99-0/x", "killed");
  directory.write(".lockstep-tree-99-1/x", "living");
  directory.write(".lockstep-tree-mine/x", "a user's");
  const Descriptor living(
      open((directory / ".lockstep-tree-99-1").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_EQ(flock(living.get(), LOCK_EX), 0);
  ASSERT_TRUE(replace(directory / "out", first).has_value());
  EXPECT_EQ(names_in(directory.path),
            (std::vector<std::string>{".lockstep-tree-99-1", ".lockstep-tree-mine", "out"}));
}

TEST(ReplaceTree, AGitRepositoryKeepsItsHistory) {
  const TemporaryDirectory directory;
  directory.write("out/.git/HEAD", "ref");
  ASSERT_TRUE(replace(directory / "out", first).has_value()) << "empty but for .git";
  ASSERT_TRUE(replace(directory / "out", second).has_value());
  EXPECT_EQ(read_tree_with_modes(directory / "out").value(), second);
  EXPECT_EQ(names_in(directory / "out"),
            (std::vector<std::string>{".git", "002-b", "checksums.txt"}));
  EXPECT_EQ(SystemFiles().read(directory / "out/.git/HEAD").value(), "ref");
  Result<void> written;
  {
    const SmallFilesOnly full;
    written = replace(directory / "out", too_large());
  }
  EXPECT_FALSE(written.has_value());
  EXPECT_EQ(names_in(directory / "out").size(), 3U);
}

// Whether it is exchanged or filled in place: links in the old one go, and lead nothing astray.
TEST(ReplaceTree, NothingIsWrittenThroughALinkInside) {
  const TemporaryDirectory outside;
  outside.write("victim", "precious");
  for (const bool in_place : {false, true}) {
    const TemporaryDirectory directory;
    if (in_place) directory.write("out/.git/HEAD", "ref");
    directory.write("out/checksums.txt", "old");
    std::filesystem::remove(directory / "out/checksums.txt");
    std::filesystem::create_symlink(outside / "victim", directory / "out/checksums.txt");
    std::filesystem::create_symlink(outside.path, directory / "out/001-a");
    ASSERT_TRUE(replace(directory / "out", first).has_value());
    EXPECT_EQ(read_tree_with_modes(directory / "out").value(), first);
    EXPECT_EQ(read_tree(outside.path).value(), (TreeTexts{{"victim", "precious"}}));
  }
}

TEST(ReplaceTree, TheWorkingDirectoryIsFilledInPlace) {
  const TemporaryDirectory directory;
  ASSERT_TRUE(replace(directory / "out", first).has_value());
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(directory / "out");
  const auto written = replace(".", second);
  const auto seen = read_tree_with_modes(".");
  std::filesystem::current_path(before);
  ASSERT_TRUE(written.has_value()) << written.error().text();
  EXPECT_EQ(seen.value(), second) << "seen from inside";
  EXPECT_EQ(names_in(directory / "out"), (std::vector<std::string>{"002-b", "checksums.txt"}));
}

// A volume of a container: it cannot be exchanged, and it can be really full.
TEST(ReplaceTree, AMountPointIsFilledInPlaceAndKeptWhenItIsFull) {
  const TemporaryDirectory directory;
  const std::string volume = directory / "volume";
  std::filesystem::create_directory(volume);
  if (mount("none", volume.c_str(), "tmpfs", 0, "size=64k") != 0) {
    GTEST_SKIP() << "may not mount: only root can check this";
  }
  const auto written = replace(volume, first);
  const auto refused = replace(volume, too_large());
  const auto seen = read_tree_with_modes(volume);
  const size_t entries = names_in(volume).size();
  umount(volume.c_str());
  ASSERT_TRUE(written.has_value()) << written.error().text();
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().text().find("No space left on device"), std::string::npos)
      << refused.error().text();
  EXPECT_EQ(seen.value(), first);
  EXPECT_EQ(entries, 2U);
}

}  // namespace
}  // namespace lockstep::replace_tree_test

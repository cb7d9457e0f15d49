#include "world/directories.h"

#include <filesystem>
#include <sys/stat.h>

#include <gtest/gtest.h>

#include "world/directories_test_util.h"

namespace lockstep::directories_test {
namespace {

using testing::TemporaryDirectory;

void expect_failure(const Result<Tree>& tree, ErrorKind kind, const std::string& wanted) {
  ASSERT_FALSE(tree.has_value());
  EXPECT_EQ(tree.error().kind, kind) << tree.error().text();
  EXPECT_NE(tree.error().text().find(wanted), std::string::npos) << tree.error().text();
}

TEST(ReadTree, GivesFilesByTheirPaths) {
  const TemporaryDirectory directory;
  directory.write("b.yaml", "b");
  directory.write("a/deep/file", std::string("zero \0 inside", 13));
  directory.write("a-file", "");
  std::filesystem::create_directory(directory / "empty");
  const TreeTexts expected = {
      {"a-file", ""}, {"a/deep/file", std::string("zero \0 inside", 13)}, {"b.yaml", "b"}};
  EXPECT_EQ(read_tree(directory.path).value(), expected);
  EXPECT_EQ(read_tree(directory.path + "/").value(), expected);
}

TEST(ReadTree, SaysWhichFilesAreExecutable) {
  const TemporaryDirectory directory;
  directory.write("deploy.sh", "#!");
  directory.write("values.yaml", "a: 1");
  ASSERT_EQ(chmod((directory / "deploy.sh").c_str(), 0755), 0);
  const Tree tree = read_tree_with_modes(directory.path).value();
  EXPECT_TRUE(tree.at("deploy.sh").executable);
  EXPECT_FALSE(tree.at("values.yaml").executable);
}

TEST(ReadTree, PassesOverGit) {
  const TemporaryDirectory directory;
  directory.write(".git/config", "x");
  directory.write("module/.git", "gitdir: elsewhere");
  directory.write(".github/x", "x");
  EXPECT_EQ(read_tree(directory.path).value(), (TreeTexts{{".github/x", "x"}}));
}

TEST(ReadTree, GitBelowTheTopIsReadWhereItIsAskedFor) {
  const TemporaryDirectory directory;
  directory.write(".git/config", "x");
  directory.write("charts/x/.git/templates/evil.yaml", "x");
  const Tree tree = read_tree_with_modes(directory.path, {}, PassOverGit::at_the_top).value();
  ASSERT_EQ(tree.size(), 1U);
  EXPECT_EQ(tree.begin()->first, "charts/x/.git/templates/evil.yaml");
}

TEST(ReadTree, FollowsLinksThatStayInside) {
  const TemporaryDirectory directory;
  directory.write("a/file", "x");
  std::filesystem::create_symlink("a/file", directory / "link");
  std::filesystem::create_symlink("a", directory / "folder");
  EXPECT_EQ(read_tree(directory.path).value(),
            (TreeTexts{{"a/file", "x"}, {"folder/file", "x"}, {"link", "x"}}));
}

TEST(ReadTree, RefusesLinksThatLeadOut) {
  const TemporaryDirectory outside;
  outside.write("secret", "x");
  for (const std::string& to : {outside / "secret", outside.path, std::string("/dev/zero")}) {
    const TemporaryDirectory directory;
    std::filesystem::create_directory(directory / "a");
    std::filesystem::create_symlink(to, directory / "a/link");
    expect_failure(read_tree_with_modes(directory.path), ErrorKind::invalid,
                   "a/link: the symbolic link leads out of " + directory.path);
  }
  // A directory whose name only begins like ours is outside.
  const TemporaryDirectory directory;
  std::filesystem::create_directory(directory / "in");
  directory.write("inside/x", "x");
  std::filesystem::create_symlink("../inside/x", directory / "in/link");
  expect_failure(read_tree_with_modes(directory / "in"), ErrorKind::invalid, "leads out of");
}

TEST(ReadTree, RefusesLinksThatGoInCirclesOrNowhere) {
  const TemporaryDirectory directory;
  std::filesystem::create_directory(directory / "a");
  std::filesystem::create_symlink("..", directory / "a/up");
  expect_failure(read_tree_with_modes(directory.path), ErrorKind::invalid,
                 "a/up: the symbolic link");
  std::filesystem::remove(directory / "a/up");
  std::filesystem::create_symlink("missing", directory / "a/dangling");
  expect_failure(read_tree_with_modes(directory.path), ErrorKind::not_found, "leads nowhere");
}

TEST(ReadTree, RefusesWhatIsNoFile) {
  const TemporaryDirectory directory;
  ASSERT_EQ(mkfifo((directory / "pipe").c_str(), 0600), 0);
  expect_failure(read_tree_with_modes(directory.path), ErrorKind::invalid,
                 "pipe: it is neither a file nor a directory");
}

TEST(ReadTree, KeepsItsLimits) {
  const TemporaryDirectory directory;
  directory.write("a/b/one", "12345");
  directory.write("a/b/two", "12345");
  EXPECT_TRUE(read_tree(directory.path, {2, 5, 10, 3}).has_value());
  expect_failure(read_tree_with_modes(directory.path, {1, 5, 10, 3}), ErrorKind::too_large,
                 "more than 1 files");
  expect_failure(read_tree_with_modes(directory.path, {2, 4, 10, 3}), ErrorKind::too_large,
                 "one: it is larger than 4 bytes");
  expect_failure(read_tree_with_modes(directory.path, {2, 5, 9, 3}), ErrorKind::too_large,
                 "more than 9 bytes");
  expect_failure(read_tree_with_modes(directory.path, {2, 5, 10, 2}), ErrorKind::too_large,
                 "a/b: more than 2 directories deep");
}

TEST(ReadTree, SaysWhatIsMissing) {
  const TemporaryDirectory directory;
  expect_failure(read_tree_with_modes(directory / "none"), ErrorKind::not_found,
                 "none: No such file or directory");
  directory.write("file", "x");
  expect_failure(read_tree_with_modes(directory / "file"), ErrorKind::not_found, "Not a directory");
}

TEST(MakeDirectories, MakesWhatIsMissingAndSaysSo) {
  const TemporaryDirectory directory;
  EXPECT_EQ(make_directories(directory / "a/b").value(),
            (std::vector<std::string>{directory / "a", directory / "a/b"}));
  EXPECT_EQ(make_directories(directory / "a//b/c/").value(),
            (std::vector<std::string>{directory / "a//b/c"}));
  EXPECT_EQ(make_directories("/").value().size(), 0U);
  EXPECT_EQ(make_directories(".").value().size(), 0U);
  directory.write("file", "x");
  EXPECT_EQ(make_directories(directory / "file/b").error().kind, ErrorKind::invalid);
}

}  // namespace
}  // namespace lockstep::directories_test

#include "world/files.h"

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace lockstep::files_test {
namespace {

class Folder {
 public:
  Folder() {
    std::string name = ::testing::TempDir() + "lockstep-files-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
    path = name;
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string operator/(const std::string& name) const { return path + "/" + name; }
  size_t entries() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(path), {}));
  }

  std::string path;
};

// What both must do alike.
void check_contract(Files& files, const std::string& path) {
  EXPECT_FALSE(files.exists(path));
  for (const Error& error :
       {files.read(path).error(), files.remove(path).error(), files.fingerprint(path).error()}) {
    EXPECT_EQ(error.kind, ErrorKind::not_found);
    EXPECT_NE(error.message.find(path), std::string::npos) << error.message;
    EXPECT_NE(error.message.find("No such file or directory"), std::string::npos) << error.message;
  }

  const std::string content("zero \0 inside\n", 14);
  ASSERT_TRUE(files.write(path, content));
  EXPECT_TRUE(files.exists(path));
  EXPECT_EQ(files.read(path).value(), content);
  const std::string first = files.fingerprint(path).value();
  EXPECT_EQ(files.fingerprint(path).value(), first);

  ASSERT_TRUE(files.write(path, "longer than it was before"));
  EXPECT_EQ(files.read(path).value(), "longer than it was before");
  EXPECT_NE(files.fingerprint(path).value(), first);

  ASSERT_TRUE(files.write(path, ""));
  EXPECT_EQ(files.read(path).value(), "");
  ASSERT_TRUE(files.remove(path));
  EXPECT_FALSE(files.exists(path));
}

TEST(SystemFiles, KeepsTheContract) {
  const Folder folder;
  SystemFiles files;
  check_contract(files, folder / "file");
  EXPECT_EQ(folder.entries(), 0U);
}

TEST(MemoryFiles, KeepsTheContract) {
  MemoryFiles files;
  check_contract(files, "/some/file");
  EXPECT_TRUE(files.contents.empty());
}

TEST(SystemFiles, WritesTheModeWhateverTheUmask) {
  const Folder folder;
  SystemFiles files;
  const mode_t before = umask(0077);
  ASSERT_TRUE(files.write(folder / "open", "x", 0644));
  ASSERT_TRUE(files.write(folder / "closed", "x", 0600));
  umask(before);
  struct stat info{};
  ASSERT_EQ(stat((folder / "open").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0644U);
  ASSERT_EQ(stat((folder / "closed").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600U);
}

TEST(SystemFiles, AFailedWriteLeavesNothingBehind) {
  const Folder folder;
  SystemFiles files;
  std::filesystem::create_directory(folder / "directory");
  const auto written = files.write(folder / "directory", "x");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().kind, ErrorKind::invalid);
  EXPECT_EQ(folder.entries(), 1U);
}

TEST(SystemFiles, AWriteIntoNowhereSaysSo) {
  const Folder folder;
  SystemFiles files;
  const auto written = files.write(folder / "missing/file", "x");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().kind, ErrorKind::not_found);
  EXPECT_NE(written.error().message.find("missing/file"), std::string::npos);
}

// Programs that have the old file open continue to read it: it is replaced, not overwritten.
TEST(SystemFiles, ReadersOfTheOldContentAreNotDisturbed) {
  const Folder folder;
  SystemFiles files;
  ASSERT_TRUE(files.write(folder / "file", "old"));
  std::filesystem::create_hard_link(folder / "file", folder / "kept");
  ASSERT_TRUE(files.write(folder / "file", "new"));
  EXPECT_EQ(files.read(folder / "kept").value(), "old");
  EXPECT_EQ(files.read(folder / "file").value(), "new");
}

TEST(SystemFiles, ASymbolicLinkStaysOne) {
  const Folder folder;
  SystemFiles files;
  ASSERT_TRUE(files.write(folder / "target", "old"));
  std::filesystem::create_symlink("target", folder / "link");
  ASSERT_TRUE(files.write(folder / "link", "new"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_EQ(files.read(folder / "target").value(), "new");
}

TEST(SystemFiles, SameContentWrittenAgainIsAChange) {
  const Folder folder;
  SystemFiles files;
  ASSERT_TRUE(files.write(folder / "file", "x"));
  const std::string first = files.fingerprint(folder / "file").value();
  std::filesystem::create_hard_link(folder / "file", folder / "kept");  // so no inode is reused
  ASSERT_TRUE(files.write(folder / "file", "x"));
  EXPECT_NE(files.fingerprint(folder / "file").value(), first);
}

TEST(SystemFiles, ReadsFilesWithoutASize) {
  EXPECT_FALSE(SystemFiles().read("/proc/self/status").value().empty());
}

TEST(SystemFiles, ADirectoryIsNoFile) {
  const Folder folder;
  const auto content = SystemFiles().read(folder.path);
  ASSERT_FALSE(content);
  EXPECT_EQ(content.error().kind, ErrorKind::invalid);
}

TEST(SystemFiles, WhatIsForbiddenSaysSo) {
  if (geteuid() == 0) GTEST_SKIP() << "root may everything";
  const Folder folder;
  SystemFiles files;
  ASSERT_TRUE(files.write(folder / "file", "x", 0));
  EXPECT_EQ(files.read(folder / "file").error().kind, ErrorKind::forbidden);
}

TEST(SystemFiles, WhatIsNoRegularFileIsWrittenToAndNeverReplaced) {
  struct stat before{};
  struct stat after{};
  ASSERT_EQ(stat("/dev/null", &before), 0);
  auto written = SystemFiles().write("/dev/null", "text");
  EXPECT_TRUE(written.has_value()) << written.error().text();
  ASSERT_EQ(stat("/dev/null", &after), 0);
  EXPECT_TRUE(S_ISCHR(after.st_mode));
  EXPECT_EQ(before.st_ino, after.st_ino);
  auto full = SystemFiles().write("/dev/full", "text");
  ASSERT_FALSE(full.has_value());
  EXPECT_NE(full.error().message.find("No space left"), std::string::npos) << full.error().text();
}

}  // namespace
}  // namespace lockstep::files_test

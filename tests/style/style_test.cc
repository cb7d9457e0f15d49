// The style rules, run on the whole tree; and on small texts that break each of them.
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "rules.h"

namespace lockstep::style::style_test {
namespace {

std::vector<SourceFile> project_files() {
  std::vector<SourceFile> files;
  const std::filesystem::path root = LOCKSTEP_SOURCE_DIR;
  for (const char* folder : {"src", "tests", "bench", "fuzz"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder)) {
      const auto& path = entry.path();
      if (path.string().find("node_modules") != std::string::npos) continue;
      if (!entry.is_regular_file() || (path.extension() != ".cc" && path.extension() != ".h"))
        continue;
      std::ifstream stream(path);
      std::stringstream text;
      text << stream.rdbuf();
      files.push_back({std::filesystem::relative(path, root).string(), text.str()});
    }
  }
  return files;
}

TEST(Style, TheWholeTreeFollowsTheRules) {
  auto files = project_files();
  ASSERT_GT(files.size(), 50U) << "the tree was not found";
  for (const auto& finding : check_all(files)) {
    ADD_FAILURE() << finding.path << ":" << finding.line << ": " << finding.what;
  }
}

TEST(Style, PureFoldersUseNoClockThreadRandomEnvironmentOrUnorderedIteration) {
  for (const char* line :
       {"auto t = std::chrono::system_clock::now();", "std::thread t;", "std::random_device d;",
        "auto home = getenv(\"HOME\");", "std::unordered_map<int, int> m;"}) {
    EXPECT_EQ(check_purity({"src/base/x.cc", line}).size(), 1U) << line;
    EXPECT_TRUE(check_purity({"src/world/x.cc", line}).empty()) << line;
    EXPECT_TRUE(check_purity({"src/base/x_test.cc", line}).empty()) << line;
  }
  EXPECT_TRUE(check_purity({"src/base/x.cc", "// no system_clock here"}).empty());
}

TEST(Style, NoFileOverSevenHundredLines) {
  std::string text;
  for (int i = 0; i < 700; ++i) text += "int x;\n";
  EXPECT_TRUE(check_shape({"src/base/x.cc", text}).empty());
  EXPECT_EQ(check_shape({"src/base/x.cc", text + "int y;\n"}).size(), 1U);
}

TEST(Style, NoTabsTrailingSpaceOrLongLines) {
  EXPECT_EQ(check_shape({"src/base/x.cc", "\tint x;\n"}).size(), 1U);
  EXPECT_EQ(check_shape({"src/base/x.cc", "int x; \n"}).size(), 1U);
  EXPECT_EQ(check_shape({"src/base/x.cc", std::string(121, 'x') + "\n"}).size(), 1U);
}

TEST(Style, EverySourceHasItsTestAndEveryTestAsserts) {
  EXPECT_EQ(check_tests({{"src/data/x.cc", ""}}).size(), 1U);
  EXPECT_TRUE(
      check_tests({{"src/data/x.cc", ""}, {"src/data/x_test.cc", "EXPECT_TRUE(a);"}}).empty());
  EXPECT_EQ(check_tests({{"src/data/x.cc", ""}, {"src/data/x_test.cc", "f();"}}).size(), 1U);
  EXPECT_TRUE(check_tests({{"src/cli/x.cc", ""}}).empty());
}

TEST(Style, NoUnfinishedWork) {
  EXPECT_EQ(check_words({"src/data/x.cc", std::string("// TO") + "DO later\n"}).size(), 1U);
}

TEST(Style, HeadersAreIncludedOnce) {
  EXPECT_EQ(check_headers({"src/data/x.h", "int x;"}).size(), 1U);
  EXPECT_TRUE(check_headers({"src/data/x.h", "#pragma once\n"}).empty());
}

}  // namespace
}  // namespace lockstep::style::style_test

#include "bundle/checksums.h"

#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace lockstep::bundle::checksums_test {
namespace {

const std::string abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

BundleFiles files_of(const std::vector<std::pair<std::string, std::string>>& list) {
  BundleFiles files;
  for (const auto& [path, text] : list) files[path] = {text};
  return files;
}

TEST(Checksums, CoverEveryFileButTheirOwnByPath) {
  EXPECT_EQ(checksums(files_of({{"b/c", "abc"}, {"a", "abc"}, {"checksums.txt", "old"}})),
            abc + "  a\n" + abc + "  b/c\n");
  EXPECT_NE(checksums(files_of({{"b/checksums.txt", "abc"}})), "");
}

// As sha256sum of coreutils 9 prints them.
TEST(Checksums, NamesWithLineBreaksAndBackslashesAreEscaped) {
  EXPECT_EQ(checksums(files_of({{"a\nb", "abc"}, {"c\\d", "abc"}, {"e\rf", "abc"}})),
            "\\" + abc + "  a\\nb\n\\" + abc + "  c\\\\d\n\\" + abc + "  e\\rf\n");
}

TEST(Checksums, AnUntouchedBundleIsIntact) {
  const BundleFiles files = files_of({{"a", "1"}, {"b/c", "2"}, {"d\\\n", "3"}, {"e f", ""}});
  const auto report = verify(checksums(files), files);
  ASSERT_TRUE(report.has_value()) << report.error().text();
  EXPECT_TRUE(report->is_intact());
}

TEST(Checksums, FindWhatIsChangedMissingAndAdded) {
  const std::string text = checksums(files_of({{"a", "1"}, {"b", "2"}, {"c", "3"}}));
  const auto report =
      verify(text, files_of({{"a", "1"}, {"b", "x"}, {"d", "4"}, {"checksums.txt", text}}));
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(*report, (VerifyReport{{"b"}, {"c"}, {"d"}}));
  EXPECT_FALSE(report->is_intact());
}

TEST(Checksums, ReadWhatSha256sumWritesInItsOtherWays) {
  const BundleFiles files = files_of({{"a", "abc"}, {"b", "abc"}});
  std::string upper = abc;
  for (char& c : upper) c = static_cast<char>(std::toupper(c));
  const auto report = verify(abc + " *a\n\n" + upper + "  ./b", files);
  ASSERT_TRUE(report.has_value()) << report.error().text();
  EXPECT_TRUE(report->is_intact());
}

TEST(Checksums, AMalformedLineIsAnErrorWithItsNumber) {
  struct Case {
    std::string line;
    std::string error;  // a part of it
  };
  const Case cases[] = {
      {"hello", "not a line of sha256sum"},
      {abc, "not a line of sha256sum"},
      {abc + "  ", "not a line of sha256sum"},
      {abc + " x", "not a line of sha256sum"},
      {abc + "\tx", "not a line of sha256sum"},
      {"g" + abc.substr(1) + "  x", "not a line of sha256sum"},
      {abc + "0  x", "not a line of sha256sum"},
      {"\\" + abc + "  a\\tb", "broken escape"},
      {"\\" + abc + "  a\\", "broken escape"},
      {abc + "  x\r", "carriage return"},
      {abc + "  a", "a second time"},
      {abc + "  ./a", "a second time"},
      {abc + "  checksums.txt", "itself"},
      {abc + "  /etc/passwd", "does not stay in the bundle"},
      {abc + "  ../x", "does not stay in the bundle"},
      {abc + "  a/../../x", "does not stay in the bundle"},
      {abc + "  a//b", "does not stay in the bundle"},
      {abc + "  a/", "does not stay in the bundle"},
      {abc + "  ./", "does not stay in the bundle"},
  };
  for (const Case& test : cases) {
    const auto report = verify(abc + "  a\n" + test.line + "\n", files_of({{"a", "abc"}}));
    ASSERT_FALSE(report.has_value()) << test.line;
    EXPECT_EQ(report.error().place, "checksums.txt:2") << test.line;
    EXPECT_NE(report.error().message.find(test.error), std::string::npos) << report.error().text();
  }
}

TEST(Checksums, AnEmptyListIsNoProof) {
  EXPECT_FALSE(verify("", {}).has_value());
  EXPECT_FALSE(verify("\n\n", files_of({{"a", "1"}})).has_value());
}

RC_GTEST_PROP(Checksums, AnyNameIsReadBack, ()) {
  const auto name = *rc::gen::nonEmpty(
      rc::gen::container<std::string>(rc::gen::element('\\', '\n', '\r', ' ', '*', 'a', 'n', 'r')));
  const BundleFiles files = files_of({{name, "x"}});
  RC_ASSERT(verify(checksums(files), files)->is_intact());
}

}  // namespace
}  // namespace lockstep::bundle::checksums_test

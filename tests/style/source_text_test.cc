// The words of comments and messages, in the whole tree; and small sources that break the rule.
#include "source_text.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "style_test_util.h"

namespace lockstep::style::source_text_test {
namespace {

std::vector<SourceFile> source_files() {
  std::vector<SourceFile> files;
  const auto add = [&](const std::filesystem::path& path) {
    files.push_back({std::filesystem::relative(path, root).string(), read(path)});
  };
  add(root / "Makefile");
  add(root / "CMakeLists.txt");
  add(root / ".ci/run");
  static const std::set<std::string> foreign = {"node_modules", "corpus", "bin", "packages"};
  for (const char* folder : {"src", "tests", "bench", "fuzz", "scripts", "cmake", "deploy",
                             "recipes", "scenarios", "web/src"}) {
    std::filesystem::recursive_directory_iterator entries(root / folder);
    for (const auto& entry : entries) {
      if (entry.is_directory() && foreign.contains(entry.path().filename().string())) {
        entries.disable_recursion_pending();
      }
      if (entry.is_regular_file() && syntax_of(entry.path().string())) add(entry.path());
    }
  }
  return files;
}

SourceText texts_of(const SourceFile& file) {
  return read_source(file.text, syntax_of(file.path).value());
}

TEST(SourceWords, NoCommentHasAPhraseOfTheList) {
  const auto files = source_files();
  const auto list = phrases();
  ASSERT_GT(files.size(), 1500U);
  size_t comments = 0;
  for (const SourceFile& file : files) {
    const SourceText texts = texts_of(file);
    comments += texts.comments.size();
    expect_none(find_phrases(file.path, texts.comments, list));
  }
  EXPECT_GT(comments, 5000U) << "comments were not found";
}

TEST(SourceWords, NoDescriptionOfAScenarioHasAPhraseOfTheList) {
  size_t found = 0;
  for (const SourceFile& file : source_files()) {
    if (file.path.rfind("scenarios/", 0) != 0) continue;
    const auto about = read_about(file.text);
    found += about.empty() ? 0 : 1;
    expect_none(find_phrases(file.path, about, phrases()));
  }
  EXPECT_GT(found, 100U) << "descriptions were not found";
}

// Messages of the program; tests may have other words in their input.
TEST(SourceWords, NoMessageHasAPhraseOfTheList) {
  size_t messages = 0;
  for (const SourceFile& file : source_files()) {
    if (file.path.rfind("src/", 0) != 0 || file.path.find("_test") != std::string::npos) continue;
    const SourceText texts = texts_of(file);
    messages += texts.literals.size();
    expect_none(find_phrases(file.path, texts.literals, phrases()));
  }
  EXPECT_GT(messages, 1000U) << "messages were not found";
}

struct Found {
  std::vector<std::string> comments;
  std::vector<std::string> literals;
};

Found read_texts(std::string_view text, Syntax syntax = Syntax::cpp) {
  Found found;
  const SourceText texts = read_source(text, syntax);
  for (const Passage& passage : texts.comments) found.comments.push_back(passage.text);
  for (const Passage& passage : texts.literals) found.literals.push_back(passage.text);
  return found;
}

using Texts = std::vector<std::string>;

TEST(SourceWords, APlantedPhraseIsFoundWithItsLine) {
  const auto list = read_phrases("way back -> rollback\n");
  const auto check = [&](std::string_view text, Syntax syntax) {
    return find_phrases("a", read_source(text, syntax).comments, list);
  };
  const auto found = check("int x;\n\n// This is the way\n// back.\nint y;  // no WAY back\n", {});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].line, 3);
  EXPECT_EQ(found[0].what, "\"way back\": use rollback");
  EXPECT_EQ(found[1].line, 5);
  EXPECT_EQ(check("/* one\n * way back */", Syntax::cpp).size(), 1U);
  EXPECT_EQ(check("a: 1  # the way back\n", Syntax::hash).size(), 1U);
  EXPECT_EQ(check("const a = 'http://x'; // way back\n", Syntax::typescript).size(), 1U);
}

TEST(SourceWords, CodeIsNotRead) {
  const auto list = read_phrases("way back -> rollback\n");
  for (const char* text : {"// `way back`\n", "// Such as:\n//\n//   way back();\n", "way back;\n",
                           "// a_way back, the way backwards\n", "// way\n\n// back\n"}) {
    EXPECT_TRUE(find_phrases("a", read_source(text, Syntax::cpp).comments, list).empty()) << text;
  }
  EXPECT_EQ(read_texts("// One:\n//\n//   * two\n//     three\n").comments,
            (Texts{"One:", "two three"}));
}

TEST(SourceWords, CommentsAreNotFoundInLiteralsNorLiteralsInComments) {
  const Found found = read_texts(R"~(auto a = "b // c"; auto d = '"'; int e = 1'000; // f "g h"
auto i = R"(j "k" // l)";
)~");
  EXPECT_EQ(found.comments, Texts{"f \"g h\""});
  EXPECT_EQ(found.literals, (Texts{"b // c", "j \"k\" // l"}));
}

TEST(SourceWords, AdjacentLiteralsAreOneMessage) {
  const Found found =
      read_texts("f(\"one \"\n  \"two\\nthree\", \"name\", \"say `x y` \\\"z\\\"\");");
  EXPECT_EQ(found.literals, (Texts{"one two three", "say `` \"z\""}));
  const auto list = read_phrases("way back -> rollback\n");
  const auto text = read_source("f(\"no \"\n \"way \"\n \"back\");", Syntax::cpp);
  const auto findings = find_phrases("a", text.literals, list);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].line, 2);
}

TEST(SourceWords, TheDescriptionOfAScenarioIsReadWithItsLines) {
  const auto about = read_about("# c\nabout: >-\n  One way\n  back.\nnodes: 3 way back\n");
  ASSERT_FALSE(about.empty());
  const auto found = find_phrases("a", about, read_phrases("way back -> rollback\n"));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].line, 3);
  EXPECT_TRUE(read_about("nodes: 3\n").empty());
}

}  // namespace
}  // namespace lockstep::style::source_text_test

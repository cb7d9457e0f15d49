// The words and sentences of what readers read; and small texts that break each rule.
#include "prose.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "style_test_util.h"

namespace lockstep::style::prose_test {
namespace {

// The pages that docs/words.txt and the length of sentences apply to. source_text_test.cc checks
// the comments and messages of the code.
std::vector<SourceFile> pages() {
  std::vector<SourceFile> files;
  for (const char* folder : {"", "docs", ".github", ".github/ISSUE_TEMPLATE", "tests/kubectl"}) {
    for (const auto& entry : std::filesystem::directory_iterator(root / folder)) {
      if (entry.path().extension() != ".md") continue;
      files.push_back({std::filesystem::relative(entry.path(), root).string(), read(entry.path())});
    }
  }
  return files;
}

// Made from the program: its own texts.
bool is_generated(const std::string& path) {
  return path == "docs/CLI.md" || path == "docs/API.md";
}

TEST(Prose, NoPageHasAPhraseOfTheList) {
  ASSERT_GT(phrases().size(), 50U);
  ASSERT_GT(pages().size(), 30U);
  for (const SourceFile& page : pages()) {
    if (page.path != "docs/CLI.md") expect_none(check_phrases(page, phrases()));
  }
}

TEST(Prose, NoSentenceOfAPageHasOverThirtyWords) {
  for (const SourceFile& page : pages()) {
    if (!is_generated(page.path)) expect_none(check_sentences(page));
  }
}

TEST(Prose, NoParagraphOfAPageIsAWall) {
  for (const SourceFile& page : pages()) expect_none(check_paragraphs(page));
}

TEST(Phrases, AreFoundAcrossLinesAndInEveryForm) {
  auto list = read_phrases("# a comment\nway back/ways back -> rollback\nanew -> again\n");
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[0].forms, (std::vector<std::string>{"way back", "ways back"}));
  auto found = check_phrases({"a.md", "# T\n\nThe WAY\nback, and\n| it | anew |\n"}, list);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].line, 3);
  EXPECT_EQ(found[0].what, "\"way back\": use rollback");
  EXPECT_EQ(found[1].line, 5);
}

TEST(Phrases, AreNotLookedForInCodeNorInPartsOfWords) {
  auto list = read_phrases("way back -> rollback\n");
  EXPECT_TRUE(check_phrases({"a.md", "runway back, `way back`\n\n    way back\n"}, list).empty());
  EXPECT_TRUE(check_phrases({"a.md", "[a](way back)\n```\nway back\n```\n"}, list).empty());
  auto names = read_phrases("Rival -> ConflictingController\n");
  EXPECT_TRUE(check_phrases({"a.md", "### Rival\na-rival-bug\n"}, names).empty());
  EXPECT_EQ(check_phrases({"a.md", "## A rival\nA rival.\n"}, names).size(), 2U);
}

TEST(Sentences, OverThirtyWordsAreFound) {
  std::string long_one;
  for (int i = 0; i < 31; ++i) long_one += "word ";
  EXPECT_EQ(check_sentences({"a.md", long_one}).size(), 1U);
  EXPECT_EQ(check_sentences({"a.md", "| " + long_one + " | b |"}).size(), 1U);
  EXPECT_TRUE(check_sentences({"a.md", long_one.substr(5)}).empty());
  EXPECT_TRUE(check_sentences({"a.md", "One. " + long_one.substr(10) + "\n\n- " + "Two."}).empty());
  EXPECT_TRUE(check_sentences({"a.md", "`" + long_one + "` a\n\n    " + long_one}).empty());
}

TEST(Paragraphs, OfMoreThanSevenLinesAreFound) {
  EXPECT_EQ(check_paragraphs({"a.md", "a\nb\nc\nd\ne\nf\ng\nh\n"}).size(), 1U);
  EXPECT_TRUE(check_paragraphs({"a.md", "a\nb\nc\nd\n- e\nf\ng\nh\n"}).empty());
}

}  // namespace
}  // namespace lockstep::style::prose_test

// Every exit code, metric and key of a scenario has its place in docs/, and nothing else has. The
// words are taken from the code itself: adding one without documentation fails this test.
#include <filesystem>
#include <regex>

#include <gtest/gtest.h>

#include "words.h"

namespace lockstep::documentation::documentation_test {
namespace {

const std::filesystem::path root = LOCKSTEP_SOURCE_DIR;

template <typename Find>
std::set<std::string> in_folder(const std::string& folder, Find find) {
  std::set<std::string> words;
  for (const auto& [path, text] : code_of(root / "src" / folder)) words.merge(find(text));
  return words;
}

// The files that read scenarios have the keys as literals, and hardly any other word.
TEST(Documentation, EveryKeyOfAScenarioIsOnItsPageAndNothingElseIs) {
  std::set<std::string> keys;
  for (const char* file :
       {"scenario", "step_reader", "fault_reader", "world_weights", "expectations_reader"}) {
    keys.merge(small_words(read_file(root / "src/sim/scenario" / (std::string(file) + ".cc"))));
  }
  ASSERT_GT(keys.size(), 150U) << "the code was not found";
  // Of the objects that are made from a scenario.
  for (const char* other : {"autoUpgrade", "spec"}) EXPECT_EQ(keys.erase(other), 1U) << other;
  const std::string page = read_file(root / "docs/SCENARIOS.md");
  for (const std::string& key : keys) {
    EXPECT_NE(page.find("`" + key + "`"), std::string::npos)
        << "docs/SCENARIOS.md does not say what `" << key << "` is";
  }
  for (const std::string& cell : first_cells(page)) {
    bool is_heading = cell == "key" || cell == "action" || cell.find(' ') != std::string::npos;
    EXPECT_TRUE(is_heading || keys.contains(cell)) << "no scenario knows " << cell;
  }
}

TEST(Documentation, EveryExitCodeIsInTheTable) {
  auto codes = enumerators(read_file(root / "src/cli/exit_codes.h"));
  ASSERT_GE(codes.size(), 7U);
  std::string page = read_file(root / "docs/REFERENCE.md");
  for (const auto& [name, number] : codes) {
    std::string row = "| " + std::to_string(number) + " | " + name + " | ";
    EXPECT_NE(page.find(row), std::string::npos) << row;
  }
}

std::set<std::string> tests_of_the_code() {
  const std::regex definition(R"((?:TEST|TEST_F|TEST_P|RC_GTEST_PROP)\(\s*(\w+),\s*(\w+))");
  std::set<std::string> names;
  for (const char* folder : {"src", "tests"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder)) {
      if (!entry.path().string().ends_with("_test.cc")) continue;
      const std::string text = read_file(entry.path());
      for (std::sregex_iterator match(text.begin(), text.end(), definition), end; match != end;
           ++match) {
        names.insert((*match)[1].str() + "." + (*match)[2].str());
      }
    }
  }
  return names;
}

// What an actor cannot do is shown by a test, or it is a mere assertion.
TEST(Documentation, EveryTestOfTheSecurityModelIsThere) {
  const std::set<std::string> tests = tests_of_the_code();
  ASSERT_GT(tests.size(), 1000U);
  const std::string page = read_file(root / "docs/SECURITY-MODEL.md");
  const std::regex named("`([A-Z]\\w+\\.[A-Za-z_]+)`");
  size_t count = 0;
  for (std::sregex_iterator match(page.begin(), page.end(), named), end; match != end; ++match) {
    ++count;
    EXPECT_TRUE(tests.contains((*match)[1].str())) << (*match)[1].str() << " is no test";
  }
  EXPECT_GT(count, 40U);
}

TEST(Documentation, EveryMetricIsInTheTableAndNothingElseIs) {
  std::set<std::string> names = in_folder("", metric_names);
  ASSERT_GT(names.size(), 30U);
  std::set<std::string> documented;
  for (const std::string& cell : first_cells(read_file(root / "docs/REFERENCE.md"))) {
    if (cell.find('_') != std::string::npos) documented.insert(cell);
  }
  EXPECT_EQ(names, documented);
}

TEST(Words, CapitalWordsAreThoseThatAreAWholeLiteral) {
  EXPECT_EQ(capital_words(R"(return {"NoPolicy", "There is none", "x"};  // "Ignored")"),
            std::set<std::string>{"NoPolicy"});
  EXPECT_EQ(capital_words("// says \"InComment\"\nauto x = \"Paused\";"),
            std::set<std::string>{"Paused"});
}

TEST(Words, SmallWordsAreThoseThatAreAWholeLiteral) {
  EXPECT_EQ(small_words(R"(reader.text("toVersion", "must be", "X", 'y');  // "ignored")"),
            std::set<std::string>{"toVersion"});
}

TEST(Words, MetricsAreThoseOfOurNames) {
  EXPECT_EQ(metric_names(R"(out_.gauge("lockstep_nodes", "x"); f("other_name");)"),
            std::set<std::string>{"lockstep_nodes"});
}

TEST(Words, EnumeratorsHaveTheirNumbers) {
  EXPECT_EQ(enumerators("int x;\nenum Code : int {\n  ok = 0,\n  timed_out = 5,\n};\nint y = 7;"),
            (std::map<std::string, int>{{"ok", 0}, {"timed_out", 5}}));
}

TEST(Words, AParagraphIsWhatStandsUnderItsHeading) {
  auto found = paragraphs("# Page\ntext\n### One\nfirst\nsecond\n\n### Two\n## Next\nother\n");
  EXPECT_EQ(found["One"], "first\nsecond");
  EXPECT_EQ(found["Two"], "");
  EXPECT_EQ(found.size(), 2U);
}

TEST(Words, FirstCellsOfTables) {
  EXPECT_EQ(first_cells("| a | b |\n|---|---|\n| `c` | d |\ntext | x |\n"),
            (std::vector<std::string>{"a", "c"}));
}

}  // namespace
}  // namespace lockstep::documentation::documentation_test

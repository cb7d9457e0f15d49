// Every link, anchor and picture of the documentation leads somewhere, every page says of which
// kind it is, and README leads to every page.
#include "pages.h"

#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include <gtest/gtest.h>

namespace lockstep::documentation::pages_test {
namespace {

namespace fs = std::filesystem;
const fs::path root = LOCKSTEP_SOURCE_DIR;

std::string read(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

std::vector<fs::path> pages_in(const fs::path& folder) {
  std::vector<fs::path> pages;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".md") pages.push_back(entry.path());
  }
  std::sort(pages.begin(), pages.end());
  return pages;
}

std::vector<fs::path> all_pages() {
  std::vector<fs::path> pages = pages_in(root);
  for (const char* folder : {"docs", ".github", ".github/ISSUE_TEMPLATE", "tests/kubectl"}) {
    for (const fs::path& page : pages_in(root / folder)) pages.push_back(page);
  }
  return pages;
}

// Empty if `target`, named in the file `from`, leads somewhere.
std::string problem_of(const std::string& target, const fs::path& from) {
  size_t hash = target.find('#');
  std::string file = target.substr(0, hash);
  fs::path to = file.empty() ? from : from.parent_path() / file;
  if (!fs::exists(to)) return "there is no " + file;
  if (hash == std::string::npos) return {};
  if (!anchors_of(read(to)).contains(target.substr(hash + 1))) {
    return to.filename().string() + " has no heading for " + target.substr(hash);
  }
  return {};
}

bool is_picture(const fs::path& path) {
  std::string bytes = read(path);
  if (path.extension() == ".png") return bytes.rfind("\x89PNG", 0) == 0;
  return path.extension() == ".svg" && bytes.find("<svg") != std::string::npos;
}

TEST(Pages, EveryLinkAnchorAndPictureResolves) {
  size_t count = 0;
  for (const fs::path& page : all_pages()) {
    for (const Link& link : links_of(read(page))) {
      ++count;
      if (link.target.rfind("https://", 0) == 0) continue;
      const std::string where = fs::relative(page, root).string() + ":" + std::to_string(link.line);
      EXPECT_EQ(problem_of(link.target, page), "") << where << ": " << link.target;
      if (link.is_picture) {
        EXPECT_TRUE(is_picture(page.parent_path() / link.target)) << where << ": " << link.target;
      }
    }
  }
  EXPECT_GT(count, 100U);
}

// Alerts, errors and comments name pages too.
TEST(Pages, EveryPageThatIsNamedAnywhereIsThere) {
  size_t count = 0;
  for (const char* folder : {"docs", "src", "deploy", "recipes", "scripts", "scenarios"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      if (!entry.is_regular_file() || entry.path().extension() == ".png") continue;
      for (const Link& link : mentions_of(read(entry.path()))) {
        ++count;
        EXPECT_EQ(problem_of(link.target, root / "README.md"), "")
            << fs::relative(entry.path(), root).string() << ":" << link.line << ": " << link.target;
      }
    }
  }
  EXPECT_GT(count, 30U);
}

TEST(Pages, EveryPageSaysOfWhichKindItIs) {
  static const std::regex kind(
      "^(Tutorial|How-to|Reference|Explanation)(, (Tutorial|How-to|"
      "Reference|Explanation))?: .+");
  for (const fs::path& page : pages_in(root / "docs")) {
    EXPECT_TRUE(std::regex_search(opening_of(read(page)), kind))
        << page.filename() << " opens with: " << opening_of(read(page));
  }
}

TEST(Pages, ReadmeIsShortAndLeadsToEveryPage) {
  const std::string readme = read(root / "README.md");
  EXPECT_LE(std::count(readme.begin(), readme.end(), '\n'), 90);
  std::set<std::string> linked;
  for (const Link& link : links_of(readme)) linked.insert(link.target);
  for (const fs::path& page : pages_in(root / "docs")) {
    EXPECT_TRUE(linked.contains("docs/" + page.filename().string())) << page.filename();
  }
}

TEST(Links, AreThoseOutsideOfCode) {
  auto links = links_of(
      "# T\n\na [b](C.md#d) ![e](f.svg)\n`[g](h)` [![i](j.png)](k)\n\n    [l](m)\n"
      "```\n[n](o)\n```\n");
  std::vector<std::string> targets;
  for (const Link& link : links) targets.push_back(link.target);
  EXPECT_EQ(targets, (std::vector<std::string>{"C.md#d", "f.svg", "k"}));
  EXPECT_TRUE(links[1].is_picture);
  EXPECT_EQ(links[0].line, 3);
}

TEST(Anchors, AreAsGitHubMakesThem) {
  EXPECT_EQ(anchors_of("# A page: of `code`\n## Who's there?\n## Who's there?\n\n    # none\n"),
            (std::set<std::string>{"a-page-of-code", "whos-there", "whos-there-1"}));
}

TEST(Links, ThatLeadNowhereAreFound) {
  EXPECT_NE(problem_of("docs/NOWHERE.md", root / "README.md"), "");
  EXPECT_NE(problem_of("docs/ROLLOUT.md#no-such-heading", root / "README.md"), "");
  EXPECT_EQ(problem_of("docs/ROLLOUT.md#rights", root / "README.md"), "");
  EXPECT_EQ(mentions_of("see docs/A-B.md#c-d.")[0].target, "docs/A-B.md#c-d");
}

TEST(Opening, IsTheFirstLineBelowTheTitle) {
  EXPECT_EQ(opening_of("# T\n\nReference: x.\nmore\n"), "Reference: x.");
}

}  // namespace
}  // namespace lockstep::documentation::pages_test

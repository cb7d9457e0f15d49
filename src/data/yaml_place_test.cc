#include "data/yaml_place.h"

#include <gtest/gtest.h>

namespace lockstep::yaml_place_test {
namespace {

constexpr std::string_view text =
    "# a comment first\n"
    "spec:\n"
    "  version: 25.10\n"
    "  list:\n"
    "    - name: one\n"
    "    - name: two\n"
    "      flag: on\n"
    "  shared: &shared {size: 010}\n"
    "  alias: *shared\n"
    "  merged:\n"
    "    <<: *shared\n";

TEST(YamlPlace, IsTheLineAndColumnOfTheKey) {
  EXPECT_EQ(place_of(text, "f.yaml", {}), "f.yaml:2:1");
  EXPECT_EQ(place_of(text, "f.yaml", {"spec", "version"}), "f.yaml:3:3");
  EXPECT_EQ(place_of(text, "f.yaml", {"spec", "list", "1"}), "f.yaml:6:7");
  EXPECT_EQ(place_of(text, "f.yaml", {"spec", "list", "1", "flag"}), "f.yaml:7:7");
}

TEST(YamlPlace, OfWhatIsNotThereIsTheLastThatIs) {
  EXPECT_EQ(place_of(text, "f.yaml", {"spec", "list", "1", "other"}), "f.yaml:6:7");
  EXPECT_EQ(place_of(text, "f.yaml", {"spec", "list", "7"}), "f.yaml:4:3");
  EXPECT_EQ(place_of(text, "f.yaml", {"spec", "list", "x"}), "f.yaml:4:3");
  EXPECT_EQ(place_of(text, "f.yaml", {"spec", "version", "deeper"}), "f.yaml:3:3");
  EXPECT_EQ(place_of("", "f.yaml", {"spec"}), "f.yaml");
  EXPECT_EQ(place_of("a: [", "f.yaml", {"a"}), "f.yaml") << "not readable at all";
}

TEST(YamlPlace, FollowsAliasesAndMerges) {
  EXPECT_EQ(place_of(text, "f.yaml", {"spec", "alias", "size"}), "f.yaml:8:20");
  EXPECT_EQ(place_of(text, "f.yaml", {"spec", "merged", "size"}), "f.yaml:8:20");
}

TEST(ScalarText, IsWhatIsWrittenAndNotWhatItMeans) {
  EXPECT_EQ(scalar_text(text, {"spec", "version"}), "25.10");
  EXPECT_EQ(scalar_text(text, {"spec", "list", "1", "flag"}), "on");
  EXPECT_EQ(scalar_text(text, {"spec", "alias", "size"}), "010");
  EXPECT_EQ(scalar_text(text, {"spec", "list"}), std::nullopt);
  EXPECT_EQ(scalar_text(text, {"spec", "other"}), std::nullopt);
  EXPECT_EQ(scalar_text("", {"spec"}), std::nullopt);
}

}  // namespace
}  // namespace lockstep::yaml_place_test

#include "apiserver/present/table_printers.h"
#include "apiserver/present/table_test_util.h"

namespace lockstep::apiserver::table_cells_test {
namespace {

TEST(TableCells, AgeOfATimeThatIsNone) {
  const Json zero = "0001-01-01T00:00:00Z", broken = "yesterday", ahead = "2026-03-02T12:00:05Z";
  EXPECT_EQ(age_of(nullptr, table_now), "<unknown>");
  EXPECT_EQ(age_of(&zero, table_now), "<unknown>");
  EXPECT_EQ(age_of(&broken, table_now), "<unknown>");
  EXPECT_EQ(age_of(&ahead, table_now), "<invalid>");
}

TEST(TableCells, FirstThree) {
  EXPECT_EQ(first_three({}, "<unset>"), "<unset>");
  EXPECT_EQ(first_three({"a", "b", "c"}, ""), "a,b,c");
  EXPECT_EQ(first_three({"a", "b", "c", "d", "e"}, ""), "a,b,c + 2 more...");
}

TEST(TableCells, Selectors) {
  const Json empty = JsonObject();
  EXPECT_EQ(selector_text(nullptr), "");
  EXPECT_EQ(format_selector(&empty), "<none>");
  EXPECT_EQ(format_labels(&empty), "<none>");
  const Json both = parse_json(R"({"matchLabels":{"z":"1","k":"2"},"matchExpressions":[
    {"key":"k","operator":"NotIn","values":["b","a"]}]})")
                        .value();
  EXPECT_EQ(format_selector(&both), "k=2,k notin (a,b),z=1");
}

TEST(TableCells, ContainersOfNoPod) {
  JsonArray cells;
  add_container_cells(nullptr, cells);
  EXPECT_EQ(print_json(cells), R"(["",""])");
}

}  // namespace
}  // namespace lockstep::apiserver::table_cells_test

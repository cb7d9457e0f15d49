#include "data/strategic_list.h"

#include <gtest/gtest.h>

namespace lockstep::strategic_list_test {
namespace {

JsonArray list(std::string_view text) { return parse_json(text)->get_array(); }

std::string ordered(std::string_view items, std::string_view wanted, std::string_view live) {
  const auto identities = [](std::string_view text) { return *identities_of(list(text), {}); };
  return print_json(in_order(list(items), identities(items), identities(wanted), identities(live)));
}

TEST(StrategicList, OrderOfThePatchThenOfTheServer) {
  EXPECT_EQ(ordered("[1,2,3]", "[3,1]", "[1,2,3]"), "[2,3,1]");
  EXPECT_EQ(ordered("[1,2,3,4]", "[4,2]", "[1,2,3]"), "[4,1,2,3]");
  EXPECT_EQ(ordered("[1,2,3]", "[]", "[3,2,1]"), "[3,2,1]");
  EXPECT_EQ(ordered("[]", "[1]", "[2]"), "[]");
}

TEST(StrategicList, TheOrderMustHoldAllItems) {
  EXPECT_TRUE(check_order({"a", "c"}, {"a", "b", "c"}));
  EXPECT_TRUE(check_order({"a"}, {}));
  EXPECT_FALSE(check_order({"c", "a"}, {"a", "b", "c"}));
  EXPECT_FALSE(check_order({"x"}, {"a"}));
}

TEST(StrategicList, ItemsOfOneKind) {
  EXPECT_EQ(*kind_of_items(list("[]"), list("[]")), ItemKind::none);
  EXPECT_EQ(*kind_of_items(list("[1]"), list("[2.5]")), ItemKind::primitive);
  EXPECT_EQ(*kind_of_items(list("[]"), list("[{}]")), ItemKind::object);
  EXPECT_FALSE(kind_of_items(list("[1]"), list("[\"1\"]")));
  EXPECT_FALSE(kind_of_items(list("[]"), list("[[]]")));
  EXPECT_FALSE(kind_of_items(list("[null]"), list("[]")));
}

TEST(StrategicList, PrimitivesByValue) {
  EXPECT_EQ(print_json(without_duplicates(list("[1,2,1.0,\"1\"]"))), "[1,2,\"1\"]");
  EXPECT_EQ(print_json(without_items(list("[1,2,1]"), list("[1]"))), "[2]");
}

}  // namespace
}  // namespace lockstep::strategic_list_test

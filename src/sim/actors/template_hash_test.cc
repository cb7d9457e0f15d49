#include "sim/actors/template_hash.h"

#include <gtest/gtest.h>

namespace lockstep::sim::template_hash_test {
namespace {

TEST(TemplateHashTest, TheOrderOfFieldsDoesNotCount) {
  Json a = JsonObject{{"a", 1}, {"b", JsonObject{{"c", "x"}, {"d", true}}}};
  Json b = JsonObject{{"b", JsonObject{{"d", true}, {"c", "x"}}}, {"a", 1}};
  EXPECT_EQ(template_hash(a), template_hash(b));
  EXPECT_EQ(template_hash(a).size(), 10u);
}

TEST(TemplateHashTest, EverythingElseCounts) {
  std::string hash = template_hash(JsonObject{{"a", JsonArray{1, 2}}});
  EXPECT_NE(template_hash(JsonObject{{"a", JsonArray{2, 1}}}), hash);
  EXPECT_NE(template_hash(JsonObject{{"a", JsonArray{1, "2"}}}), hash);
  EXPECT_NE(template_hash(JsonObject{{"b", JsonArray{1, 2}}}), hash);
}

}  // namespace
}  // namespace lockstep::sim::template_hash_test

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "data/json_arbitrary.h"
#include "data/patch.h"

namespace lockstep::merge_patch_test {
namespace {

struct Case {
  const char* document;
  const char* patch;
  const char* result;
};

// The table of RFC 7386, appendix A.
TEST(MergePatch, TableOfTheRfc) {
  const Case cases[] = {{R"({"a":"b"})", R"({"a":"c"})", R"({"a":"c"})"},
                        {R"({"a":"b"})", R"({"b":"c"})", R"({"a":"b","b":"c"})"},
                        {R"({"a":"b"})", R"({"a":null})", R"({})"},
                        {R"({"a":"b","b":"c"})", R"({"a":null})", R"({"b":"c"})"},
                        {R"({"a":["b"]})", R"({"a":"c"})", R"({"a":"c"})"},
                        {R"({"a":"c"})", R"({"a":["b"]})", R"({"a":["b"]})"},
                        {R"({"a":{"b":"c"}})", R"({"a":{"b":"d","c":null}})", R"({"a":{"b":"d"}})"},
                        {R"({"a":[{"b":"c"}]})", R"({"a":[1]})", R"({"a":[1]})"},
                        {R"(["a","b"])", R"(["c","d"])", R"(["c","d"])"},
                        {R"({"a":"b"})", R"(["c"])", R"(["c"])"},
                        {R"({"a":"foo"})", R"(null)", R"(null)"},
                        {R"({"a":"foo"})", R"("bar")", R"("bar")"},
                        {R"({"e":null})", R"({"a":1})", R"({"e":null,"a":1})"},
                        {R"([1,2])", R"({"a":"b","c":null})", R"({"a":"b"})"},
                        {R"({})", R"({"a":{"bb":{"ccc":null}}})", R"({"a":{"bb":{}}})"}};
  for (const Case& c : cases) {
    Json document = *parse_json(c.document);
    apply_merge_patch(document, *parse_json(c.patch));
    EXPECT_EQ(print_json(document), c.result) << c.document << " patched with " << c.patch;
  }
}

TEST(MergePatch, NullsInsideOfListsAreValues) {
  Json document = *parse_json(R"({"a":1})");
  apply_merge_patch(document, *parse_json(R"({"a":[null,{"b":null}]})"));
  EXPECT_EQ(print_json(document), R"({"a":[null,{"b":null}]})");
}

TEST(MergePatch, NullsOfWhatIsNewHaveNothingToRemove) {
  Json document = *parse_json(R"({"a":1})");
  apply_merge_patch(document,
                    *parse_json(R"({"b":{"c":{"d":null,"e":[null]},"f":2},"g":{"h":3}})"));
  EXPECT_EQ(print_json(document), R"({"a":1,"b":{"c":{"e":[null]},"f":2},"g":{"h":3}})");
}

TEST(MergePatch, OfADocumentWithItself) {
  Json document = *parse_json(R"({"a":{"b":1}})");
  apply_merge_patch(document, document);
  EXPECT_EQ(print_json(document), R"({"a":{"b":1}})");
}

TEST(MakeMergePatch, IsSmall) {
  const Json before = *parse_json(R"({"a":{"x":1,"y":[1]},"b":2,"c":3})");
  const Json after = *parse_json(R"({"a":{"x":1,"y":[2]},"b":2.0,"d":{"z":1}})");
  EXPECT_EQ(print_json(make_merge_patch(before, after)), R"({"c":null,"a":{"y":[2]},"d":{"z":1}})");
  EXPECT_EQ(print_json(make_merge_patch(before, before)), "{}");
}

// A merge patch cannot set a field to null.
bool has_null_field(const Json& value) {
  const JsonObject* object = value.if_object();
  if (object == nullptr) return false;
  for (const auto& [key, child] : *object) {
    if (child.is_null() || has_null_field(child)) return true;
  }
  return false;
}

RC_GTEST_PROP(MakeMergePatch, LeadsFromBeforeToAfter, ()) {
  Json document = *arbitrary_json();
  const Json after =
      *rc::gen::suchThat(arbitrary_json(), [](const Json& v) { return !has_null_field(v); });
  apply_merge_patch(document, make_merge_patch(document, after));
  RC_ASSERT(json_equal(document, after));
}

RC_GTEST_PROP(MergePatch, TwiceIsOnce, ()) {
  Json document = *arbitrary_json();
  const Json patch = *arbitrary_json();
  apply_merge_patch(document, patch);
  const Json once = document;
  apply_merge_patch(document, patch);
  RC_ASSERT(json_equal(document, once));
}

TEST(MergePatch, WhatItDoesNotChangeStaysShared) {
  const Json before = *parse_json(R"({"a":{"b":1,"c":[1,2]},"d":{"e":1}})");
  Json after = before;
  apply_merge_patch(after, *parse_json(R"({"a":{"c":[1,2],"none":null},"d":{"e":2}})"));
  const Json& changed = after;
  EXPECT_TRUE(changed.at("a").get_object().is_same(before.at("a").get_object()));
  EXPECT_EQ(print_json(after), R"({"a":{"b":1,"c":[1,2]},"d":{"e":2}})");
  EXPECT_EQ(print_json(before), R"({"a":{"b":1,"c":[1,2]},"d":{"e":1}})");
}

}  // namespace
}  // namespace lockstep::merge_patch_test

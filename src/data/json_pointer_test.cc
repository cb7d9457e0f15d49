#include "data/json_pointer.h"

#include <gtest/gtest.h>

namespace lockstep::json_pointer_test {
namespace {

TEST(JsonPointer, ParsesNamesAndEscapes) {
  EXPECT_EQ(*parse_json_pointer(""), JsonPointer{});
  EXPECT_EQ(*parse_json_pointer("/"), JsonPointer{""});
  EXPECT_EQ(*parse_json_pointer("/a//b"), (JsonPointer{"a", "", "b"}));
  EXPECT_EQ(*parse_json_pointer("/nvidia.com~1gpu/~0x/~01"),
            (JsonPointer{"nvidia.com/gpu", "~x", "~1"}));
  for (const char* wrong : {"a", "a/b", "/~", "/~2", "/a~/b"}) {
    EXPECT_FALSE(parse_json_pointer(wrong)) << wrong;
  }
}

TEST(JsonPointer, IndexesHaveOneSpelling) {
  EXPECT_EQ(parse_array_index("0"), 0u);
  EXPECT_EQ(parse_array_index("12"), 12u);
  for (const char* wrong : {"", "-", "-1", "+1", "01", "00", "1e0", "1 ", "99999999999999999999"}) {
    EXPECT_FALSE(parse_array_index(wrong)) << wrong;
  }
}

TEST(JsonPointer, SaysWhereTheWayEnds) {
  Json document = *parse_json(R"({"spec":{"taints":[{"key":"a"}],"x/y":1}})");
  const auto problem = [&](std::string_view pointer) {
    const JsonPointer path = *parse_json_pointer(pointer);
    return follow_pointer(document, path, path.size()).error().message;
  };
  EXPECT_EQ(problem("/spec/labels/app"), "there is no \"labels\" in /spec");
  EXPECT_EQ(problem("/status"), "there is no \"status\" in the document");
  EXPECT_EQ(problem("/spec/taints/1"), "there is no item 1: /spec/taints has 1 items");
  EXPECT_EQ(problem("/spec/taints/-"), "\"-\" is not an index, and /spec/taints is a list");
  EXPECT_EQ(problem("/spec/x~1y/z"), "/spec/x~1y is neither an object nor a list");
}

}  // namespace
}  // namespace lockstep::json_pointer_test

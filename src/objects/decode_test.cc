#include "objects/decode.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "objects/config_map.h"
#include "objects/decode_test_util.h"
#include "objects/node.h"

namespace lockstep::decode_test {
namespace {

TEST(Decode, AnErrorNamesTheObject) {
  struct Case {
    std::string_view text, begins;
  };
  for (const Case& each : std::vector<Case>{
           // The name may come after the error.
           {R"({"spec":{"unschedulable":"yes"},"metadata":{"name":"gpu-7"}})", "Node gpu-7: "},
           {R"({"metadata":{"name":"gpu-7","labels":["a"]}})", "Node gpu-7: "},
           {R"({"metadata":{"name":"gpu-7","creationTimestamp":"yesterday"}})", "Node gpu-7: "},
           {R"({"metadata":{"labels":{}}})", "Node: the object has no metadata.name"},
           {R"(null)", "Node: the object has no metadata.name"},
           {R"([])", "Node: "},
           {R"("node")", "Node: "},
       }) {
    std::string error = decode_error<Node>(each.text);
    EXPECT_EQ(error.substr(0, each.begins.size()), each.begins) << error;
  }
  DecodeContext context;
  for (std::string_view broken :
       {"", "{", R"({"metadata":{"name":"a"}} x)", R"({"metadata":{"name")"}) {
    EXPECT_FALSE(decode_object<Node>(broken, context).has_value()) << broken;
  }
}

TEST(Decode, TheProblemOfOneObjectIsForgottenAtTheNext) {
  DecodeContext context;
  EXPECT_FALSE(decode_object<Node>(R"({"metadata":{"name":"a","creationTimestamp":"x"}})", context)
                   .has_value());
  EXPECT_TRUE(decode_object<Node>(R"({"metadata":{"name":"a"}})", context).has_value());
}

struct Listed {
  Result<ListPage> page = ListPage();
  std::vector<std::string> items;
  std::vector<std::string> bad;
};

Listed list_of(std::string_view text) {
  Listed listed;
  DecodeContext context;
  listed.page = decode_list<ConfigMap>(
      text, context, [&](ConfigMap&& item) { listed.items.push_back(item.meta.name.str()); },
      [&](const BadItem& bad) { listed.bad.push_back(bad.key.text() + "|" + bad.error.place); });
  return listed;
}

using Names = std::vector<std::string>;

TEST(Decode, ReadsAListInAnyOrder) {
  const std::string meta = R"("metadata":{"resourceVersion":"77","continue":"abc",
    "remainingItemCount":5,"selfLink":""})";
  const std::string items = R"("items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}])";
  for (const std::string& text : {"{\"kind\":\"ConfigMapList\"," + meta + "," + items + "}",
                                  "{" + items + ",\"extra\":[{}]," + meta + "}\n"}) {
    Listed listed = list_of(text);
    ASSERT_TRUE(listed.page.has_value());
    EXPECT_EQ(listed.page->resource_version, "77");
    EXPECT_EQ(listed.page->continue_token, "abc");
    EXPECT_EQ(listed.page->remaining, 5);
    EXPECT_EQ(listed.items, (Names{"a", "b"}));
    EXPECT_TRUE(listed.bad.empty());
  }
}

TEST(Decode, AListMayBeEmpty) {
  for (std::string_view text : {R"({"items":null,"metadata":{"resourceVersion":"1"}})",
                                R"({"items":[],"metadata":{"resourceVersion":"1"}})",
                                R"({"metadata":{"resourceVersion":"1"}})"}) {
    Listed listed = list_of(text);
    ASSERT_TRUE(listed.page.has_value()) << text;
    EXPECT_EQ(listed.page->resource_version, "1");
    EXPECT_TRUE(listed.items.empty());
  }
}

TEST(Decode, OneBadItemDoesNotHideTheOthers) {
  Listed listed = list_of(R"({"items":[
    {"metadata":{"name":"a"}},
    {"data":{"x":7},"metadata":{"namespace":"n","name":"wrong-type"}},
    {"metadata":{"name":"b"}},
    {"metadata":{"name":"wrong-time","creationTimestamp":"never"}},
    {"data":{}},
    null,
    17,
    {"metadata":{"name":"c"}}],
    "metadata":{"resourceVersion":"9"}})");
  ASSERT_TRUE(listed.page.has_value()) << listed.page.error().text();
  EXPECT_EQ(listed.page->resource_version, "9");
  EXPECT_EQ(listed.items, (Names{"a", "b", "c"}));
  ASSERT_EQ(listed.bad.size(), 5U);
  EXPECT_EQ(listed.bad[0].substr(0, 35), "n/wrong-type|ConfigMap n/wrong-type");
  EXPECT_EQ(listed.bad[1], "wrong-time|ConfigMap wrong-time");
  EXPECT_EQ(listed.bad[2], "|ConfigMap");
}

TEST(Decode, WhatIsNoListIsRefused) {
  for (std::string_view text :
       {"", "[]", "{", R"({"items":[{"metadata":{"name":"a"}})", R"({"items":{}})",
        R"({"items":[]} x)", R"({"items":[{"metadata":{"name":"a"}},{"data":{"x":7}}]} x)",
        R"({"metadata":[],"items":[]})"}) {
    EXPECT_FALSE(list_of(text).page.has_value()) << text;
  }
}

RC_GTEST_PROP(Decode, EveryItemIsEitherGoodOrBadInOrder, (const std::vector<bool>& good)) {
  std::string text = R"({"metadata":{"resourceVersion":"5"},"items":[)";
  Names expected;
  Names expected_bad;
  for (size_t i = 0; i < good.size(); ++i) {
    std::string name = "c" + std::to_string(i);
    if (i > 0) text += ",";
    text += R"({"metadata":{"name":")" + name + R"("},"data":)" + (good[i] ? "{}" : "1") + "}";
    (good[i] ? expected : expected_bad).push_back(name);
  }
  Listed listed = list_of(text + "]}");
  RC_ASSERT(listed.page.has_value());
  RC_ASSERT(listed.items == expected);
  RC_ASSERT(listed.bad.size() == expected_bad.size());
}

TEST(Decode, PlacesSayAsMuchAsIsKnown) {
  EXPECT_EQ(object_place("Pod", {"default", "web-1"}), "Pod default/web-1");
  EXPECT_EQ(object_place("Node", {"", "gpu-7"}), "Node gpu-7");
  EXPECT_EQ(object_place("Node", {}), "Node");
}

}  // namespace
}  // namespace lockstep::decode_test

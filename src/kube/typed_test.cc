#include "kube/typed.h"

#include <gtest/gtest.h>

#include "objects/config_map.h"

namespace lockstep::kube::typed_test {
namespace {

Document document(std::string_view text) { return std::make_shared<const Json>(*parse_json(text)); }

constexpr std::string_view good =
    R"({"metadata":{"name":"a","namespace":"n","resourceVersion":"7"},"data":{"k":"v"}})";
constexpr std::string_view bad = R"({"metadata":{"name":"b","resourceVersion":"8"},"data":7})";

TEST(Typed, DecodesEitherForm) {
  DecodeContext context;
  for (const Body& body : {Body(std::string(good)), Body(document(good))}) {
    auto map = decode_shared<ConfigMap>(body, context);
    ASSERT_TRUE(map.has_value());
    EXPECT_EQ((*map)->data.get("k"), "v");
    EXPECT_EQ(peek_body_key(body), (ObjectKey{"n", "a"}));
    EXPECT_EQ(peek_body_version(body), "7");
  }
}

TEST(Typed, ErrorsNameTheObject) {
  DecodeContext context;
  for (const Body& body : {Body(std::string(bad)), Body(document(bad))}) {
    auto map = decode_body<ConfigMap>(body, context);
    ASSERT_FALSE(map.has_value());
    EXPECT_EQ(map.error().text().substr(0, 13), "ConfigMap b: ");
    EXPECT_EQ(peek_body_key(body), (ObjectKey{"", "b"}));
    EXPECT_EQ(peek_body_version(body), "8");
  }
  for (const Body& body : {Body(), Body(Document()), Body(ListBody())}) {
    EXPECT_FALSE(decode_body<ConfigMap>(body, context).has_value());
    EXPECT_EQ(peek_body_key(body), ObjectKey());
    EXPECT_EQ(peek_body_version(body), "");
  }
}

TEST(Typed, GenericObjectsShareTheDocument) {
  DecodeContext context;
  Document shared = document(good);
  auto object = decode_body<GenericObject>(Body(shared), context);
  ASSERT_TRUE(object.has_value());
  EXPECT_EQ(object->document, shared);
}

TEST(Typed, ADocumentIsDecodedOnceForAllWhoAreShownIt) {
  DecodeContext one;
  DecodeContext other;
  Document shared = document(good);
  auto first = decode_shared<ConfigMap>(Body(shared), one);
  auto second = decode_shared<ConfigMap>(Body(shared), other);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(*first, *second);
  std::vector<std::shared_ptr<const ConfigMap>> items;
  auto page = decode_list_shared<ConfigMap>(
      Body(ListBody{"9", "", 0, {shared}}), other,
      [&](std::shared_ptr<const ConfigMap> item) { items.push_back(std::move(item)); },
      [](const BadItem&) {});
  ASSERT_TRUE(page);
  EXPECT_EQ(items, std::vector<std::shared_ptr<const ConfigMap>>{*first});
  // The same text in another document is another object.
  auto third = decode_shared<ConfigMap>(Body(document(good)), one);
  ASSERT_TRUE(third);
  EXPECT_NE(*first, *third);
}

// Documents come and go at the same addresses.
TEST(Typed, WhatWasDecodedIsOfTheDocumentAsItIs) {
  DecodeContext context;
  for (int i = 0; i < 20000; ++i) {
    std::string value = std::to_string(i);
    Document made =
        document(R"({"metadata":{"name":"a","namespace":"n"},"data":{"k":")" + value + R"("}})");
    auto map = decode_shared<ConfigMap>(Body(made), context);
    ASSERT_TRUE(map);
    ASSERT_EQ((*map)->data.get("k"), value);
  }
}

TEST(Typed, ListsComeInThreeForms) {
  std::string text =
      R"({"metadata":{"resourceVersion":"9","continue":"more","remainingItemCount":3},
    "items":[)" +
      std::string(good) + "," + std::string(bad) + "]}";
  for (const Body& body : {Body(text), Body(document(text)),
                           Body(ListBody{"9", "more", 3, {document(good), document(bad)}})}) {
    DecodeContext context;
    std::vector<std::string> items;
    std::vector<std::string> bad_items;
    auto page = decode_list_body<ConfigMap>(
        body, context, [&](ConfigMap&& map) { items.push_back(map.meta.name.str()); },
        [&](const BadItem& item) { bad_items.push_back(item.key.text()); });
    ASSERT_TRUE(page.has_value()) << page.error().text();
    EXPECT_EQ(page->resource_version, "9");
    EXPECT_EQ(page->continue_token, "more");
    EXPECT_EQ(page->remaining, 3);
    EXPECT_EQ(items, std::vector<std::string>{"a"});
    EXPECT_EQ(bad_items, std::vector<std::string>{"b"});
  }
  DecodeContext context;
  auto none =
      decode_list_body<ConfigMap>(Body(), context, [](ConfigMap&&) {}, [](const BadItem&) {});
  EXPECT_FALSE(none.has_value());
}

}  // namespace
}  // namespace lockstep::kube::typed_test

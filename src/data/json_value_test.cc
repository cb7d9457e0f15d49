#include "data/json_value.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "data/json.h"
#include "data/json_arbitrary.h"

namespace lockstep::json_value_test {
namespace {

TEST(JsonValue, ACopyIsTheSameMemoryUntilOneChanges) {
  Json first{{"spec", {{"nodeName", "gpu-7"}}}, {"status", {{"phase", "Running"}}}};
  Json second = first;
  EXPECT_TRUE(first.as_object().is_same(second.as_object()));
  second.as_object()["status"].as_object()["phase"] = "Failed";
  EXPECT_EQ(text_at(first, "status", "phase"), "Running");
  EXPECT_EQ(text_at(second, "status", "phase"), "Failed");
  // What was not on the way to the change is still one.
  EXPECT_TRUE(find(std::as_const(first), "spec")
                  ->get_object()
                  .is_same(find(std::as_const(second), "spec")->get_object()));
}

TEST(JsonValue, ListsAreSharedToo) {
  Json first = JsonArray{1, 2, JsonArray{3}};
  Json second = first;
  second.as_array().push_back(4);
  second.as_array()[2].as_array()[0] = 5;
  EXPECT_EQ(print_json(first), "[1,2,[3]]");
  EXPECT_EQ(print_json(second), "[1,2,[5],4]");
}

TEST(JsonValue, ALookAtWhatIsNotThereChangesNothing) {
  Json first{{"a", 1}};
  Json second = first;
  EXPECT_EQ(second.as_object().if_contains("b"), nullptr);
  EXPECT_FALSE(erase_key(second.as_object(), "b"));
  EXPECT_EQ(second.as_object().erase("b"), 0U);
  EXPECT_TRUE(first.as_object().is_same(second.as_object()));
}

TEST(JsonValue, BracesMakeObjectsOfPairsAndArraysOfTheRest) {
  EXPECT_EQ(print_json(Json{{"a", 1}, {"b", {2, 3}}}), R"({"a":1,"b":[2,3]})");
  EXPECT_EQ(print_json(Json{"a", 1}), R"(["a",1])");
  EXPECT_EQ(print_json(Json{{"a", 1}, 2}), R"([["a",1],2])");
  EXPECT_EQ(print_json(JsonObject{{"a", {{"b", nullptr}}}}), R"({"a":{"b":null}})");
}

TEST(JsonValue, KindsAndWhatTheyRefuse) {
  EXPECT_TRUE(Json(true).is_bool());
  EXPECT_TRUE(Json(1).is_int64());
  EXPECT_TRUE(Json(1U).is_uint64());
  EXPECT_TRUE(Json(1.0).is_double());
  EXPECT_TRUE(Json("a").is_string());
  EXPECT_EQ(Json(1), Json(1U));
  EXPECT_NE(Json(-1), Json(static_cast<uint64_t>(-1)));
  EXPECT_NE(Json(1), Json(1.0));
  EXPECT_THROW(Json(1).as_object(), std::invalid_argument);
  EXPECT_THROW(Json(JsonObject{}).at("a"), std::out_of_range);
  EXPECT_THROW(Json(JsonArray{}).at(0), std::out_of_range);
}

TEST(JsonValue, ErasingKeepsTheOrderOrNot) {
  JsonObject object{{"a", 1}, {"b", 2}, {"c", 3}, {"d", 4}};
  JsonObject copy = object;
  copy.erase("a");
  EXPECT_EQ(print_json(copy), R"({"d":4,"b":2,"c":3})");
  EXPECT_TRUE(erase_key(object, "a"));
  EXPECT_EQ(print_json(object), R"({"b":2,"c":3,"d":4})");
}

TEST(JsonValue, AnItemOfItselfMayBeAppended) {
  JsonArray items{"a long text that is not inside", 2};
  for (int i = 0; i < 40; ++i) items.push_back(items.front());
  EXPECT_EQ(items.size(), 42U);
  EXPECT_EQ(items.back(), items.front());
}

// Against a list of pairs that is searched from its beginning, past the length from which an index
// is kept.
RC_GTEST_PROP(JsonValue, AnObjectHoldsWhatItWasGiven, ()) {
  JsonObject object;
  JsonObject earlier;
  std::vector<std::pair<std::string, int>> truth;
  std::vector<std::pair<std::string, int>> truth_then;
  const int steps = *rc::gen::inRange(0, 200);
  for (int i = 0; i < steps; ++i) {
    const std::string key = std::to_string(*rc::gen::inRange(0, 90)) + "-of-the-keys";
    auto at = std::find_if(truth.begin(), truth.end(),
                           [&](const auto& entry) { return entry.first == key; });
    switch (*rc::gen::inRange(0, 8)) {
      case 0:
        RC_ASSERT(erase_key(object, key) == (at != truth.end()));
        if (at != truth.end()) truth.erase(at);
        break;
      case 1:
        earlier = object;
        truth_then = truth;
        break;
      default:
        object[key] = i;
        if (at != truth.end()) {
          at->second = i;
        } else {
          truth.emplace_back(key, i);
        }
    }
  }
  auto check = [](const JsonObject& held,
                  const std::vector<std::pair<std::string, int>>& expected) {
    RC_ASSERT(held.size() == expected.size());
    size_t place = 0;
    for (const auto& [key, value] : held) {
      RC_ASSERT(key == expected[place].first);
      RC_ASSERT(value == Json(expected[place].second));
      RC_ASSERT(held.if_contains(key) == &value);
      ++place;
    }
  };
  check(object, truth);
  check(earlier, truth_then);
}

// A copy never shows what is done to the original.
RC_GTEST_PROP(JsonValue, CopiesAreApart, ()) {
  Json document = *arbitrary_json();
  const std::string before = print_json(document);
  const Json copy = document;
  deep_merge(document, *arbitrary_json());
  RC_ASSERT(print_json(copy) == before);
}

}  // namespace
}  // namespace lockstep::json_value_test

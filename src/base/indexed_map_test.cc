#include "base/indexed_map.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace lockstep::indexed_map_test {
namespace {

TEST(IndexedMap, IsWalkedInOrderAndSearchedByKey) {
  IndexedMap<std::string, int> map;
  map["c"] = 3;
  map["a"] = 1;
  map["b"] = 2;
  std::string keys;
  for (const auto& [key, value] : map) keys += key;
  EXPECT_EQ(keys, "abc");
  ASSERT_NE(map.find(std::string_view("b")), nullptr);
  EXPECT_EQ(*map.find(std::string_view("b")), 2);
  EXPECT_EQ(map.find(std::string_view("d")), nullptr);
  EXPECT_TRUE(map.contains(std::string_view("a")));
  EXPECT_EQ(map.at("c"), 3);
  EXPECT_THROW(map.at("d"), std::out_of_range);
  const std::string* key = map.key_of(std::string_view("b"));
  map["0"] = 0;
  EXPECT_EQ(map.key_of(std::string_view("b")), key) << "it stays where it is";
  EXPECT_EQ(map.key_of(std::string_view("d")), nullptr);
}

TEST(IndexedMap, MakesAValueOnce) {
  IndexedMap<std::string, int> map;
  auto [first, made] = map.try_emplace("a");
  EXPECT_TRUE(made);
  first = 7;
  auto [second, made_again] = map.try_emplace("a");
  EXPECT_FALSE(made_again);
  EXPECT_EQ(second, 7);
  EXPECT_EQ(map.size(), 1U);
}

TEST(IndexedMap, ForgetsWhatIsErased) {
  IndexedMap<std::string, int> map;
  for (int i = 0; i < 100; ++i) map[std::to_string(i)] = i;
  for (int i = 0; i < 100; i += 2) EXPECT_TRUE(map.erase(std::to_string(i)));
  EXPECT_FALSE(map.erase("0"));
  for (int i = 0; i < 100; ++i) EXPECT_EQ(map.contains(std::to_string(i)), i % 2 == 1) << i;
  EXPECT_EQ(map.size(), 50U);
  EXPECT_EQ(map.in_order().size(), 50U);
}

TEST(IndexedMap, KeepsItsIndexWhenItIsMoved) {
  IndexedMap<std::string, int> map;
  map["a"] = 1;
  IndexedMap<std::string, int> other = std::move(map);
  EXPECT_EQ(other.at("a"), 1);
}

}  // namespace
}  // namespace lockstep::indexed_map_test

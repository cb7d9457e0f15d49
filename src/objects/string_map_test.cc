#include "objects/string_map.h"

#include <map>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace lockstep::string_map_test {
namespace {

TEST(StringMap, FindsWhatIsThere) {
  StringMap map{{"b", "2"}, {"a", "1"}, {"c", ""}};
  EXPECT_EQ(map.size(), 3U);
  EXPECT_EQ(map.get("a"), "1");
  EXPECT_EQ(map.get("c"), "");
  EXPECT_TRUE(map.contains("c"));
  EXPECT_FALSE(map.contains("d"));
  EXPECT_EQ(map.find("d"), nullptr);
  EXPECT_EQ(map.value_of("c"), std::optional<std::string_view>(""));
  EXPECT_EQ(map.value_of("d"), std::nullopt);
  EXPECT_EQ(StringMap().get("a"), "");
}

TEST(StringMap, TheLastOfEqualKeysWins) {
  EXPECT_EQ((StringMap{{"a", "1"}, {"b", "x"}, {"a", "2"}, {"a", "3"}}),
            (StringMap{{"b", "x"}, {"a", "3"}}));
}

RC_GTEST_PROP(StringMap, BehavesAsAMap, ()) {
  using Step = std::tuple<bool, std::string, std::string>;
  auto short_text = rc::gen::container<std::string>(rc::gen::elementOf(std::string("abc/.")));
  auto steps = *rc::gen::container<std::vector<Step>>(
      rc::gen::tuple(rc::gen::arbitrary<bool>(), short_text, short_text));
  std::map<std::string, std::string> truth;
  StringMap map;
  std::vector<StringMap::Entry> entries;
  for (const auto& [is_set, key, value] : steps) {
    if (is_set) {
      truth[key] = value;
      map.set(Text(key), Text(value));
    } else {
      RC_ASSERT(map.erase(key) == (truth.erase(key) == 1));
    }
  }
  std::map<std::string, std::string> seen;
  for (const auto& [key, value] : map) seen.emplace(key.str(), value.str());
  RC_ASSERT(seen == truth);
  for (const auto& [key, value] : truth) {
    RC_ASSERT(map.get(key) == value);
    entries.emplace(entries.begin(), Text(key), Text(value));
  }
  RC_ASSERT(StringMap::from_entries(entries) == map);
}

}  // namespace
}  // namespace lockstep::string_map_test

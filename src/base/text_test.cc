#include "base/text.h"

#include <map>
#include <string>
#include <unordered_set>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace lockstep::text_test {
namespace {

TEST(Text, IsAsSmallAsAPointer) { EXPECT_EQ(sizeof(Text), sizeof(void*)); }

TEST(Text, HoldsEveryLength) {
  for (size_t size = 0; size < 40; ++size) {
    const std::string text(size, 'x');
    EXPECT_EQ(Text(text), text);
    EXPECT_EQ(Text(text).size(), size);
    EXPECT_EQ(Text(text).empty(), size == 0);
    EXPECT_EQ(Text(text).heap_bytes() == 0, size <= 7) << size;
  }
}

TEST(Text, EqualTextsHaveEqualMarks) {
  for (size_t length = Text::inline_limit + 1; length < 300; ++length) {
    const std::string characters = std::string(length - 1, 'a') + "z";
    EXPECT_EQ(Text(characters).mark(), Text::mark_of(characters)) << length;
    EXPECT_EQ(Text(characters), Text(characters)) << length;
    EXPECT_EQ(Text(characters).view(), characters) << length;
    EXPECT_NE(Text(characters), Text(characters + "z")) << length;
    EXPECT_NE(Text(characters), Text(std::string(length, 'a'))) << length;
  }
}

TEST(Text, ZeroBytesCount) {
  const std::string with_zero("a\0b", 3);
  EXPECT_EQ(Text(with_zero).str(), with_zero);
  EXPECT_NE(Text(std::string_view("\0", 1)), Text());
}

TEST(Text, CopiesShareAndOutliveEachOther) {
  std::vector<Text> copies;
  {
    const Text original("longer than seven characters");
    copies.assign(3, original);
    EXPECT_EQ(copies[0].view().data(), original.view().data());
  }
  EXPECT_EQ(copies[2], "longer than seven characters");
}

TEST(Text, SurvivesAssignmentToItself) {
  Text text("longer than seven characters");
  Text& same = text;
  text = same;
  EXPECT_EQ(text, "longer than seven characters");
  text = std::move(same);
  EXPECT_EQ(text, "longer than seven characters");
}

TEST(Text, AMovedFromTextIsEmpty) {
  Text from("longer than seven characters");
  const Text to(std::move(from));
  EXPECT_TRUE(from.empty());  // NOLINT: that is the point
  EXPECT_EQ(to, "longer than seven characters");
  Text assigned("another one that is long");
  Text source("longer than seven characters");
  assigned = std::move(source);
  EXPECT_TRUE(source.empty());  // NOLINT
  EXPECT_EQ(assigned, to);
}

RC_GTEST_PROP(Text, ComparesLikeAString, (const std::string& a, const std::string& b)) {
  const Text x(a), y(b);
  RC_ASSERT(x.view() == a);
  RC_ASSERT((x == y) == (a == b));
  RC_ASSERT((x < y) == (a < b));
  RC_ASSERT((x <=> y) == (a <=> b));
  RC_ASSERT((x < b) == (a < b));
  RC_ASSERT((x == b) == (a == b));
  if (x == y) RC_ASSERT(std::hash<Text>()(x) == std::hash<Text>()(y));
}

// What a sequence of assignments leaves must be what it leaves with strings.
RC_GTEST_PROP(Text, AssignsLikeAString, (const std::vector<std::string>& values)) {
  std::vector<std::string> strings(4);
  std::vector<Text> texts(4);
  for (const std::string& value : values) {
    const auto to = *rc::gen::inRange(0, 4), from = *rc::gen::inRange(0, 4);
    strings[from] = value;
    texts[from] = Text(value);
    strings[to] = strings[from];
    texts[to] = texts[from];
  }
  for (size_t i = 0; i < texts.size(); ++i) RC_ASSERT(texts[i].view() == strings[i]);
}

TEST(TextPool, GivesEqualStringsOneStorage) {
  TextPool pool;
  const Text first = pool.intern("kubernetes.io/hostname");
  const Text second = pool.intern(std::string("kubernetes.io/") + "hostname");
  EXPECT_EQ(first.view().data(), second.view().data());
}

TEST(TextPool, SharesNearlyAllOfAThousandLabels) {
  TextPool pool;
  std::unordered_set<const char*> storages;
  std::vector<Text> kept;
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < 1000; ++i) {
      kept.push_back(pool.intern("nvidia.com/gpu.label-" + std::to_string(i)));
      storages.insert(kept.back().view().data());
    }
  }
  // Neighbours that fall into one slot take turns in it; they are few.
  EXPECT_LT(storages.size(), 1500U);
}

TEST(TextPool, WorksWithAnyNumberOfSlots) {
  for (const size_t slots : {0, 1, 3}) {
    TextPool pool(slots);
    EXPECT_EQ(pool.intern("the first long string"), "the first long string");
    EXPECT_EQ(pool.intern("the second long string"), "the second long string");
  }
}

RC_GTEST_PROP(TextPool, InternChangesNothing, (const std::vector<std::string>& values)) {
  TextPool pool(2);
  std::vector<Text> interned;
  for (const std::string& value : values) interned.push_back(pool.intern(value));
  for (size_t i = 0; i < values.size(); ++i) RC_ASSERT(interned[i].view() == values[i]);
}

}  // namespace
}  // namespace lockstep::text_test

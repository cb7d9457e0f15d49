#include "base/hash_index.h"

#include <map>
#include <string>

#include <gtest/gtest.h>

namespace lockstep::hash_index_test {
namespace {

struct Thing {
  std::string name;
};

Thing* find(const HashIndex<Thing>& index, size_t hash, std::string_view name) {
  return index.find(hash, [&](const Thing& thing) { return thing.name == name; });
}

TEST(HashIndex, FindsWhatWasPutIn) {
  HashIndex<Thing> index;
  Thing one{"one"};
  Thing two{"two"};
  EXPECT_EQ(find(index, hash_of("one"), "one"), nullptr);
  index.insert(hash_of("one"), &one);
  index.insert(hash_of("two"), &two);
  EXPECT_EQ(find(index, hash_of("one"), "one"), &one);
  EXPECT_EQ(find(index, hash_of("two"), "two"), &two);
  EXPECT_EQ(find(index, hash_of("three"), "three"), nullptr);
  EXPECT_EQ(index.size(), 2U);
}

// Items with the same hash share a row. Removing one must not leave a gap that hides later ones.
TEST(HashIndex, KeepsApartWhatHasTheSameHash) {
  for (size_t gone = 0; gone < 5; ++gone) {
    HashIndex<Thing> index;
    std::vector<Thing> things{{"a"}, {"b"}, {"c"}, {"d"}, {"e"}};
    for (size_t i = 0; i < things.size(); ++i) index.insert(i == 3 ? 15 : 14, &things[i]);
    index.erase(gone == 3 ? 15 : 14, &things[gone]);
    for (size_t i = 0; i < things.size(); ++i) {
      EXPECT_EQ(find(index, i == 3 ? 15 : 14, things[i].name), i == gone ? nullptr : &things[i])
          << i << " without " << gone;
    }
  }
}

TEST(HashIndex, IgnoresWhatIsNotThere) {
  HashIndex<Thing> index;
  Thing one{"one"};
  Thing other{"other"};
  index.erase(1, &one);
  index.insert(1, &one);
  index.erase(1, &other);
  index.erase(2, &other);
  EXPECT_EQ(find(index, 1, "one"), &one);
  index.clear();
  EXPECT_EQ(find(index, 1, "one"), nullptr);
  EXPECT_EQ(index.size(), 0U);
}

// Against a map, with hashes that collide often.
TEST(HashIndex, AgreesWithAMapAfterManyChanges) {
  HashIndex<Thing> index;
  std::vector<Thing> things(200);
  std::map<size_t, bool> there;
  uint64_t state = 1;
  auto hash = [](size_t i) { return i * 7 % 61; };
  for (int step = 0; step < 20'000; ++step) {
    state = state * 6364136223846793005 + 1442695040888963407;
    size_t i = (state >> 33) % things.size();
    things[i].name = std::to_string(i);
    if (there[i]) {
      index.erase(hash(i), &things[i]);
    } else {
      index.insert(hash(i), &things[i]);
    }
    there[i] = !there[i];
    size_t other = (state >> 17) % things.size();
    ASSERT_EQ(find(index, hash(other), std::to_string(other)),
              there[other] ? &things[other] : nullptr);
  }
}

TEST(HashOf, TellsANamespaceFromAName) {
  EXPECT_NE(hash_of("a", "b"), hash_of("b", "a"));
  EXPECT_NE(hash_of("", "ab"), hash_of("a", "b"));
  EXPECT_EQ(hash_of("", "b"), hash_of("b"));
}

}  // namespace
}  // namespace lockstep::hash_index_test

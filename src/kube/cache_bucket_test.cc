#include "kube/cache_bucket.h"

#include <map>
#include <string>

#include <gtest/gtest.h>

namespace lockstep::kube::cache_bucket_test {
namespace {

struct Slot {
  int number;
  int key() const { return number; }
};

std::vector<int> numbers(const CacheBucket<Slot>& bucket) {
  std::vector<int> found;
  bucket.for_each([&](const Slot& slot) { found.push_back(slot.number); });
  return found;
}

TEST(CacheBucket, IsInOrderAndForgetsWhatLeaves) {
  CacheBucket<Slot> bucket;
  Slot one{1}, two{2}, three{3};
  EXPECT_TRUE(bucket.empty());
  bucket.erase(&one);
  for (Slot* slot : {&three, &one, &two}) bucket.insert(slot);
  EXPECT_EQ(numbers(bucket), (std::vector<int>{1, 2, 3}));
  Slot other_two{2};
  bucket.erase(&other_two);
  EXPECT_EQ(bucket.size(), 3U);
  bucket.erase(&two);
  EXPECT_EQ(numbers(bucket), (std::vector<int>{1, 3}));
  bucket.erase(&one);
  bucket.erase(&three);
  EXPECT_TRUE(bucket.empty());
}

// More than fit into one piece, from the front, from the back and at random; then out again.
TEST(CacheBucket, AgreesWithAMapOfManyThousands) {
  CacheBucket<Slot> bucket;
  std::map<int, Slot> held;
  uint64_t state = 1;
  for (int step = 0; step < 20'000; ++step) {
    state = state * 6364136223846793005 + 1442695040888963407;
    int number = step < 3000 ? 10'000 - step : static_cast<int>((state >> 33) % 10'000);
    auto [at, fresh] = held.try_emplace(number, Slot{number});
    if (fresh) {
      bucket.insert(&at->second);
    } else {
      bucket.erase(&at->second);
      held.erase(at);
    }
  }
  std::vector<int> wanted;
  for (const auto& [number, slot] : held) wanted.push_back(number);
  EXPECT_GT(wanted.size(), 1000U);
  EXPECT_EQ(numbers(bucket), wanted);
  EXPECT_EQ(bucket.size(), wanted.size());
  for (const auto& [number, slot] : held) bucket.erase(&slot);
  EXPECT_TRUE(bucket.empty());
  EXPECT_TRUE(numbers(bucket).empty());
}

}  // namespace
}  // namespace lockstep::kube::cache_bucket_test

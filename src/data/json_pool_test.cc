#include "data/json_pool.h"

#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "data/json.h"

namespace lockstep::json_pool_test {

namespace {

// With blocks of every size that the pool keeps, and some that it does not.
Json many_sizes() {
  JsonObject object;
  for (size_t size = 1; size < 400; size += 7) {
    JsonArray items;
    for (size_t i = 0; i < size; ++i) items.push_back(i);
    object[std::to_string(size)] = std::move(items);
  }
  return object;
}

TEST(JsonPool, BlocksDoNotOverlap) {
  std::vector<std::pair<unsigned char*, size_t>> blocks;
  for (size_t size = 1; size < 6000; size += 97) {
    auto* block = static_cast<unsigned char*>(take_json_block(size));
    std::memset(block, static_cast<int>(size % 251), size);
    blocks.emplace_back(block, size);
  }
  for (const auto& [block, size] : blocks) {
    ASSERT_EQ(block[0], size % 251);
    ASSERT_EQ(block[size - 1], size % 251);
    give_json_block(block, size);
  }
}

TEST(JsonPool, MemoryThatWasGivenBackIsUsedAgain) {
  const Json original = many_sizes();
  for (int i = 0; i < 200; ++i) {
    const Json again = many_sizes();
    ASSERT_EQ(again, original);
  }
}

TEST(JsonPool, AnotherThreadMayDropADocument) {
  const Json original = many_sizes();
  Json shared = original;
  std::thread([taken = std::move(shared), &original] {
    Json copy = taken;
    copy.as_object()["1"] = "changed";
    EXPECT_NE(copy, original);
    EXPECT_EQ(taken, original);
  }).join();
  EXPECT_EQ(many_sizes(), original);
}

}  // namespace

}  // namespace lockstep::json_pool_test

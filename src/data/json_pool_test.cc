#include "data/json_pool.h"

#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "data/json.h"

namespace lockstep {

namespace {

// With blocks of every size that the pool keeps, and some that it does not.
Json many_sizes() {
  JsonObject object;
  for (size_t size = 1; size < 9000; size += 61) {
    object[std::to_string(size)] = JsonArray{std::string(size, 'x'), size};
  }
  return object;
}

TEST(JsonPool, CopiesAreEqualAndApart) {
  Json original = many_sizes();
  Json first(original, json_pool());
  Json second = first;
  second.as_object()["1"] = "changed";
  EXPECT_EQ(first, original);
  EXPECT_NE(second, original);
}

TEST(JsonPool, WhatIsCopiedFromThePoolIsInThePool) {
  Json first(many_sizes(), json_pool());
  Json second = first;
  EXPECT_EQ(*second.storage(), *json_pool());
}

TEST(JsonPool, MemoryThatWasGivenBackIsUsedAgain) {
  Json original = many_sizes();
  for (int i = 0; i < 200; ++i) {
    Json copy(original, json_pool());
    Json other(JsonArray{copy, i}, json_pool());
    ASSERT_EQ(copy, original);
    ASSERT_EQ(other.as_array().front(), original);
  }
}

TEST(JsonPool, AnotherThreadMayDropADocument) {
  Json original = many_sizes();
  Json shared(original, json_pool());
  std::thread([taken = std::move(shared), &original] {
    Json copy = taken;
    EXPECT_EQ(copy, original);
  }).join();
  EXPECT_EQ(Json(original, json_pool()), original);
}

}  // namespace

}  // namespace lockstep

#include "world/loop.h"

#include <functional>
#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace lockstep::loop_test {
namespace {

TEST(Scope, WhatItBindsRunsWhileItLives) {
  int sum = 0;
  std::function<void(int)> bound;
  {
    const Scope scope;
    bound = scope.bind([&](int number) { sum += number; });
    bound(2);
  }
  bound(3);
  EXPECT_EQ(sum, 2);
}

TEST(Scope, ResetSilencesOnlyWhatCameBefore) {
  std::string ran;
  Scope scope;
  const std::function<void()> before = scope.bind([&] { ran += 'a'; });
  scope.reset();
  const std::function<void()> after = scope.bind([&] { ran += 'b'; });
  before();
  after();
  EXPECT_EQ(ran, "b");
}

TEST(Scope, ACallbackMayEndItsOwner) {
  struct Owner {
    Scope scope;
  };
  auto owner = std::make_unique<Owner>();
  int runs = 0;
  const std::function<void()> bound = owner->scope.bind([&] {
    ++runs;
    owner.reset();
  });
  bound();
  bound();
  EXPECT_EQ(runs, 1);
}

TEST(Scope, PassesMoveOnlyArguments) {
  const Scope scope;
  int value = 0;
  auto bound = scope.bind([&](std::unique_ptr<int> number) { value = *number; });
  bound(std::make_unique<int>(7));
  EXPECT_EQ(value, 7);
}

}  // namespace
}  // namespace lockstep::loop_test

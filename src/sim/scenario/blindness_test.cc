#include "sim/scenario/blindness.h"

#include <gtest/gtest.h>

namespace lockstep::sim::blindness_test {
namespace {

Interference step_of(std::string action) {
  Interference step;
  step.action = std::move(action);
  return step;
}

TEST(Blindness, WeightsThatHideNothingCostNothing) {
  kube::FaultWeights weights;
  EXPECT_EQ(blindness_of(weights), calm_blindness);
  weights.conflict = 0.5;
  weights.page_size = 2;
  EXPECT_EQ(blindness_of(weights), calm_blindness);
}

TEST(Blindness, LagsCountForWhatTheyAre) {
  kube::FaultWeights weights;
  weights.latency = seconds(1);
  weights.watch_lag = seconds(3);
  EXPECT_EQ(blindness_of(weights), calm_blindness + seconds(8));
  weights.watch_lag_of["pods"] = seconds(20);
  EXPECT_EQ(blindness_of(weights), calm_blindness + seconds(42));
}

TEST(Blindness, WhatBreaksWatchesAndListsHidesForLong) {
  for (double kube::FaultWeights::* weight :
       {&kube::FaultWeights::watch_silent, &kube::FaultWeights::stale_replica,
        &kube::FaultWeights::list_cut, &kube::FaultWeights::server_error}) {
    kube::FaultWeights weights;
    weights.*weight = 0.01;
    EXPECT_EQ(blindness_of(weights), long_blindness);
  }
  EXPECT_EQ(blindness_of(kube::FaultWeights::everything(0.1)), long_blindness);
}

TEST(Blindness, OfARunItIsTheLongest) {
  Scenario scenario;
  EXPECT_EQ(blindness_of(scenario, {}), calm_blindness);
  // A block of faults without any.
  scenario.controller_weights = kube::FaultWeights();
  scenario.fleet_weights = kube::FaultWeights::everything(1);
  scenario.steps.push_back(step_of("rebootNodes"));
  EXPECT_EQ(blindness_of(scenario, {}), calm_blindness);
  EXPECT_EQ(blindness_of(scenario, {Freeze{"pods", 1, minutes(2), false}}),
            calm_blindness + minutes(2));
  scenario.steps.push_back(step_of("partition"));
  EXPECT_EQ(blindness_of(scenario, {}), long_blindness);
}

}  // namespace
}  // namespace lockstep::sim::blindness_test

#include "cli/status_text.h"

#include <gtest/gtest.h>

namespace lockstep::cli::status_text_test {
namespace {

using fleet::Reason;
using fleet::State;

NodeStatus node(std::string name, State state, fleet::ReasonName reason) {
  NodeStatus status;
  status.name = std::move(name);
  status.state = state;
  status.in_state = minutes(3);
  status.reason = {std::move(reason), "because of it", "change it"};
  return status;
}

FleetStatus fleet_of(std::vector<NodeStatus> nodes) {
  PoolStatus pool;
  pool.source = "ClusterPolicy cluster-policy";
  pool.target = "580.126.20";
  pool.nodes = std::move(nodes);
  pool.counts.total = static_cast<int64_t>(pool.nodes.size());
  for (const NodeStatus& each : pool.nodes) {
    ++pool.counts.by_state[each.state];
    if (each.state == State::done) ++pool.running;
  }
  FleetStatus status;
  status.pools.push_back(std::move(pool));
  return status;
}

// Plain lines, as in a file.
const Terminal plain;

TEST(StatusText, NamesWhatNeedsEyesFirstAndCountsTheRest) {
  const std::string text =
      status_text(fleet_of({node("gpu-1", State::done, Reason::in_sync),
                            node("gpu-2", State::failed, Reason::driver_waiting),
                            node("gpu-3", State::required, Reason::parallel_limit)}),
                  plain);
  EXPECT_LT(text.find("gpu-2"), text.find("gpu-3"));
  EXPECT_EQ(text.find("gpu-1"), std::string::npos) << "it is done";
  EXPECT_NE(text.find("1/3 run 580.126.20"), std::string::npos) << text;
  EXPECT_NE(text.find("DriverWaiting: because of it"), std::string::npos) << text;
}

TEST(StatusText, NamesNoMoreNodesThanFitAndSaysHowManyAreLeftOut) {
  std::vector<NodeStatus> nodes;
  for (int i = 0; i < 9; ++i) {
    nodes.push_back(node(fmt::format("gpu-{}", i), State::required, Reason::parallel_limit));
  }
  StatusTextOptions options;
  options.most_nodes = 4;
  const FleetStatus status = fleet_of(nodes);
  const std::string text = status_text(status, plain, options);
  EXPECT_NE(text.find("and 5 more (--all shows them)"), std::string::npos) << text;
  options.all_nodes = true;
  EXPECT_NE(status_text(status, plain, options).find("gpu-8"), std::string::npos);
}

TEST(StatusText, WithoutANodeSaysWhereDriversAreLookedFor) {
  FleetStatus status;
  status.driver_namespaces = {"gpu-operator", "nvidia"};
  EXPECT_NE(status_text(status, plain).find("gpu-operator or nvidia"), std::string::npos);
}

TEST(StatusText, WhatOthersWroteStaysOnItsLine) {
  FleetStatus status = fleet_of({node("gpu-1", State::failed, Reason::driver_crash_loop)});
  status.pools[0].nodes[0].reason.text = "first\nsecond";
  status.pools[0].paused = "night\nby ada";
  const std::string text = status_text(status, plain);
  EXPECT_EQ(text.find("\nsecond"), std::string::npos) << text;
  EXPECT_EQ(text.find("\nby ada"), std::string::npos) << text;
}

TEST(StatusText, WhyNamesTheReasonAndWhatWouldChangeIt) {
  const FleetStatus status = fleet_of({node("gpu-1", State::required, Reason::parallel_limit)});
  const std::string text = why_text(status.pools[0].nodes[0], status.pools[0], plain);
  EXPECT_NE(text.find("ParallelLimit: because of it"), std::string::npos) << text;
  EXPECT_NE(text.find("change it"), std::string::npos) << text;
  EXPECT_NE(text.find("to become 580.126.20"), std::string::npos) << text;
}

}  // namespace
}  // namespace lockstep::cli::status_text_test

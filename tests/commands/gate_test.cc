// `lockstep gate --node`: the gate on a node of the cluster, as a Job. What it finds there is for
// tests/gpu; here the machines are simulated, and say with which exit code it ended.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cluster.h"

namespace lockstep::commands::gate_test {
namespace {

struct GateOnNode : ::testing::Test {
  void SetUp() override {
    cluster.serve();
    cluster.add_fleet(2, 50);
  }
  ProcessOutput gate(std::vector<std::string> words) {
    words.insert(words.begin(), {"gate", "-n", "default"});
    return cluster.lockstep(words);
  }
  Cluster cluster;
};

TEST_F(GateOnNode, RunsAsAJobOnThatNodeAndShowsHowItEnded) {
  ProcessOutput run = gate({"--node", "gpu-2", "--check", "driver,ecc", "--expect-driver",
                            "580.105.08", "--image", "registry.example.com/lockstep:1"});
  EXPECT_EQ(run.exit_code, 0) << run.error;
  EXPECT_NE(run.output.find("Passed on gpu-2"), std::string::npos) << run.output;
  EXPECT_NE(run.error.find("runs the gate on gpu-2"), std::string::npos) << run.error;
  std::vector<Json> jobs = cluster.list(resource::jobs, "default");
  ASSERT_EQ(jobs.size(), 1u);
  const Json* pod = find(jobs[0], "spec", "template", "spec");
  EXPECT_EQ(text_at(*pod, "nodeName"), "gpu-2");
  const Json& container = find(*pod, "containers")->get_array()[0];
  EXPECT_EQ(text_at(container, "image"), "registry.example.com/lockstep:1");
  EXPECT_EQ(print_json(*find(container, "args")),
            R"(["gate","driver","ecc","--expect-driver","580.105.08","--budget","30s",)"
            R"("--termination-message","/dev/termination-log"])");
}

TEST_F(GateOnNode, WhatCannotBeIsSaidBeforeAJobIsMade) {
  struct Row {
    std::vector<std::string> words;
    int exit_code;
    const char* said;
  };
  for (const Row& row : {Row{{"--node", "gpu-9"}, 3, "gpu-9"},
                         Row{{"--node", "gpu-1", "--check", "eccc"}, 2, "\"ecc\"?"},
                         Row{{"--node", "gpu-1", "--baseline", "b.json"}, 2, "--baseline"},
                         Row{{"--node", "gpu-1", "--node-timeout", "soon"}, 2, "--node-timeout"}}) {
    ProcessOutput run = gate(row.words);
    EXPECT_EQ(run.exit_code, row.exit_code) << row.said << run.error;
    EXPECT_NE(run.error.find(row.said), std::string::npos) << run.error;
  }
  EXPECT_TRUE(cluster.list(resource::jobs, "default").empty());
}

}  // namespace
}  // namespace lockstep::commands::gate_test

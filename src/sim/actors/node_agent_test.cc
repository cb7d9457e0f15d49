#include "sim/actors/node_agent.h"

#include <gtest/gtest.h>

#include "apiserver/verbs/cluster_test_util.h"
#include "apiserver/verbs/in_process_api.h"
#include "sim/actors/fleet_objects.h"

namespace lockstep::sim::node_agent_test {
namespace {

struct NodeAgentTest : ::testing::Test {
  apiserver::TestCluster cluster;
  apiserver::InProcessApi api{cluster.backend, {"tester", {}, "test"}};
  SeededRandom random{5};
  SilentLog log;
  Parts parts{api, cluster.loop, random, log};
  Writer writer{parts};

  std::string ready_of(const std::string& node) {
    Json object = cluster.get(resource::nodes, {"", node});
    for (const Json& condition : object.at("status").at("conditions").as_array()) {
      if (text_at(condition, "type") == "Ready") return std::string(text_at(condition, "status"));
    }
    return "";
  }
};

TEST_F(NodeAgentTest, RegistersWhatIsMissingAndAdoptsTheRest) {
  cluster.create(resource::nodes, "", R"({"metadata":{"name":"gpu-1","labels":{"mine":"yes"}}})");
  NodeAgent agent(parts, writer, Duration(0));
  for (int i = 0; i < 2; ++i) agent.add(node_object(i, {}, cluster.loop.now()));
  agent.start();
  cluster.loop.run_for(seconds(1));
  EXPECT_EQ(ready_of("gpu-1"), "True");
  EXPECT_EQ(ready_of("gpu-2"), "True");
  Json adopted = cluster.get(resource::nodes, {"", "gpu-1"});
  EXPECT_EQ(text_at(adopted, "metadata", "labels", "mine"), "yes");
  EXPECT_EQ(text_at(adopted, "status", "capacity", "nvidia.com/gpu"), "8");
  EXPECT_EQ(agent.address("gpu-2"), "10.0.0.5");
}

TEST_F(NodeAgentTest, NotReadyLeavesTheOtherConditions) {
  NodeAgent agent(parts, writer, Duration(0));
  agent.add(node_object(0, {}, cluster.loop.now()));
  agent.start();
  cluster.loop.run_for(seconds(1));
  agent.set_ready("gpu-1", false);
  cluster.loop.run_for(seconds(1));
  EXPECT_EQ(ready_of("gpu-1"), "Unknown");
  Json node = cluster.get(resource::nodes, {"", "gpu-1"});
  EXPECT_EQ(node.at("status").at("conditions").as_array().size(), 4u);
  agent.set_ready("gpu-1", true);
  agent.set_label("gpu-1", "color", "green");
  cluster.loop.run_for(seconds(1));
  EXPECT_EQ(ready_of("gpu-1"), "True");
  EXPECT_EQ(text_at(cluster.get(resource::nodes, {"", "gpu-1"}), "metadata", "labels", "color"),
            "green");
}

TEST_F(NodeAgentTest, RenewsALeasePerNodeAsLongAsItIsReady) {
  NodeAgent agent(parts, writer, seconds(10));
  agent.add(node_object(0, {}, cluster.loop.now()));
  agent.start();
  cluster.loop.run_for(seconds(15));
  ObjectKey key{"kube-node-lease", "gpu-1"};
  Json first = cluster.get(resource::leases, key);
  EXPECT_EQ(text_at(first, "spec", "holderIdentity"), "gpu-1");
  cluster.loop.run_for(seconds(30));
  Json second = cluster.get(resource::leases, key);
  EXPECT_LT(text_at(first, "spec", "renewTime"), text_at(second, "spec", "renewTime"));
  agent.set_ready("gpu-1", false);
  cluster.loop.run_for(seconds(10));
  Json third = cluster.get(resource::leases, key);
  cluster.loop.run_for(seconds(60));
  EXPECT_EQ(text_at(third, "spec", "renewTime"),
            text_at(cluster.get(resource::leases, key), "spec", "renewTime"));
}

TEST_F(NodeAgentTest, ANodeThatSomebodyCalledUnreadyIsReadyAgainWithItsNextLease) {
  NodeAgent agent(parts, writer, seconds(10));
  agent.add(node_object(0, {}, cluster.loop.now()));
  agent.start();
  cluster.loop.run_for(seconds(15));
  auto say_unknown = [&] {
    kube::Request request = kube::patch(
        resource::nodes, {"", "gpu-1"}, kube::PatchType::strategic,
        parse_json(R"({"status":{"conditions":[{"type":"Ready","status":"Unknown"}]}})").value());
    request.subresource = "status";
    writer.send(std::move(request));
    cluster.loop.run_for(seconds(1));
    ASSERT_EQ(ready_of("gpu-1"), "Unknown");
    agent.see(cluster.get(resource::nodes, {"", "gpu-1"}));
  };
  say_unknown();
  cluster.loop.run_for(seconds(11));
  EXPECT_EQ(ready_of("gpu-1"), "True");
  // One that is not ready itself does not contradict.
  agent.set_ready("gpu-1", false);
  cluster.loop.run_for(seconds(1));
  say_unknown();
  cluster.loop.run_for(seconds(30));
  EXPECT_EQ(ready_of("gpu-1"), "Unknown");
}

}  // namespace
}  // namespace lockstep::sim::node_agent_test

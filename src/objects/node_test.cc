#include "objects/node.h"

#include <gtest/gtest.h>

#include "objects/decode_test_util.h"

namespace lockstep::node_test {
namespace {

constexpr std::string_view full = R"({"kind":"Node","apiVersion":"v1",
  "metadata":{"name":"gpu-7","labels":{"nvidia.com/gpu.present":"true"}},
  "spec":{"podCIDR":"10.0.0.0/24","unschedulable":true,"taints":[
    {"key":"node.kubernetes.io/unschedulable","effect":"NoSchedule","timeAdded":"2026-11-15T04:20:11Z"},
    {"key":"nvidia.com/gpu","value":"present","effect":"NoExecute"}]},
  "status":{
    "capacity":{"cpu":"192","memory":"2Gi","nvidia.com/gpu":"8","rdma/hca":"1k"},
    "allocatable":{"cpu":"191","nvidia.com/gpu":"7"},
    "conditions":[
      {"type":"MemoryPressure","status":"False"},
      {"type":"Ready","status":"True","reason":"KubeletReady","message":"posting ready status",
       "lastHeartbeatTime":"2026-11-15T04:20:11Z","lastTransitionTime":"2026-11-15T03:00:00Z"}],
    "addresses":[{"type":"InternalIP","address":"10.1.2.3"},{"type":"Hostname","address":"gpu-7"}],
    "images":[{"names":["a","b"],"sizeBytes":12}],
    "nodeInfo":{"architecture":"amd64","bootID":"b-1","containerRuntimeVersion":"containerd://2.1",
      "kernelVersion":"5.15","kubeletVersion":"v1.34.1","operatingSystem":"linux","osImage":"Ubuntu",
      "machineID":"m","systemUUID":"s","kubeProxyVersion":"v1"}}})";

TEST(Node, KeepsWhatUpgradesLookAt) {
  Node node = decoded<Node>(full);
  EXPECT_EQ(node.meta.name, "gpu-7");
  EXPECT_EQ(node.meta.labels.get("nvidia.com/gpu.present"), "true");
  EXPECT_TRUE(node.unschedulable);
  ASSERT_EQ(node.taints.size(), 2U);
  EXPECT_EQ(node.taints[0].key, "node.kubernetes.io/unschedulable");
  EXPECT_TRUE(node.taints[0].added.is_set());
  EXPECT_EQ(node.taints[1], (Taint{"nvidia.com/gpu", "present", "NoExecute", {}}));
  EXPECT_EQ(node.capacity, (ResourceAmounts{{"nvidia.com/gpu", 8}, {"rdma/hca", 1000}}));
  EXPECT_EQ(amount_of(node.allocatable, "nvidia.com/gpu"), 7);
  ASSERT_EQ(node.conditions.size(), 2U);
  EXPECT_EQ(node.conditions[1].reason, "KubeletReady");
  EXPECT_EQ(format_rfc3339(node.conditions[1].last_transition), "2026-11-15T03:00:00Z");
  EXPECT_TRUE(node.ready());
  EXPECT_EQ(node.addresses[0], (NodeAddress{"InternalIP", "10.1.2.3"}));
  EXPECT_EQ(node.info,
            (NodeInfo{"amd64", "b-1", "containerd://2.1", "5.15", "v1.34.1", "linux", "Ubuntu"}));
  EXPECT_TRUE(Kind<Node>::type() == resource::nodes);
}

TEST(Node, TheOrderOfFieldsDoesNotMatter) {
  auto tree = parse_json(full);
  JsonObject backwards;
  for (std::string_view key : {"status", "spec", "metadata", "kind"}) {
    JsonObject inner;
    const Json& value = tree->as_object().at(key);
    if (value.is_object()) {
      std::vector<std::pair<std::string, Json>> fields;
      for (const auto& field : value.get_object()) fields.emplace_back(field.key(), field.value());
      for (auto at = fields.rbegin(); at != fields.rend(); ++at) inner[at->first] = at->second;
      backwards[key] = inner;
    } else {
      backwards[key] = value;
    }
  }
  EXPECT_EQ(decoded<Node>(print_json(backwards)), decoded<Node>(full));
}

TEST(Node, IsReadyOnlyWhenItSaysSo) {
  struct Case {
    std::string_view conditions;
    bool ready;
  };
  for (const Case& each : std::vector<Case>{
           {"null", false},
           {"[]", false},
           {R"([{"type":"Ready","status":"True"}])", true},
           {R"([{"type":"Ready","status":"False"}])", false},
           {R"([{"type":"Ready","status":"Unknown"}])", false},
           {R"([{"type":"DiskPressure","status":"True"}])", false},
       }) {
    std::string text =
        R"({"metadata":{"name":"a"},"status":{"conditions":)" + std::string(each.conditions) + "}}";
    EXPECT_EQ(decoded<Node>(text).ready(), each.ready) << text;
  }
}

TEST(Node, BareAndNullFieldsAreFine) {
  Node bare;
  bare.meta.name = "a";
  EXPECT_EQ(decoded<Node>(R"({"metadata":{"name":"a"}})"), bare);
  EXPECT_EQ(decoded<Node>(R"({"metadata":{"name":"a"},"spec":null,"status":{"capacity":null,
    "addresses":null,"nodeInfo":null}})"),
            bare);
}

TEST(Node, WrongTypesAreErrors) {
  for (std::string_view part :
       {R"("spec":{"unschedulable":"true"})", R"("spec":{"taints":{}})", R"("spec":[])",
        R"("spec":{"taints":[{"key":1}]})", R"("status":{"capacity":{"nvidia.com/gpu":"many"}})",
        R"("status":{"capacity":{"nvidia.com/gpu":{}}})", R"("status":{"conditions":[1]})",
        R"("spec":{"taints":[{"timeAdded":"soon"}]})"}) {
    std::string error =
        decode_error<Node>(R"({"metadata":{"name":"gpu-7"},)" + std::string(part) + "}");
    EXPECT_EQ(error.substr(0, 12), "Node gpu-7: ") << part;
  }
}

}  // namespace
}  // namespace lockstep::node_test

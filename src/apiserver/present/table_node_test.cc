#include "apiserver/present/table_test_util.h"

namespace lockstep::apiserver::table_node_test {
namespace {

TEST(TableNode, Columns) {
  const std::vector<ColumnCase> cases = {
      {"", "Node",
       "Name,Status,Roles,Age,Version|Internal-IP,External-IP,OS-Image,Kernel-Version,Container-"
       "Runtime"},
      {"coordination.k8s.io", "Lease", "Name,Holder,Age"},
      {"node.k8s.io", "RuntimeClass", "Name,Handler,Age"},
      {"resource.k8s.io", "DeviceClass", "Name,Age"},
      {"resource.k8s.io", "ResourceClaim", "Name,State,Age"},
      {"resource.k8s.io", "ResourceClaimTemplate", "Name,Age"},
      {"resource.k8s.io", "ResourceSlice", "Name,Node,Driver,Pool,Age"},
      {"resource.k8s.io", "DeviceTaintRule", "Name,Key,Value,Effect,TimeAdded,Age"},
  };
  for (const ColumnCase& one : cases) {
    EXPECT_EQ(column_names(one.group, one.kind), one.names) << one.kind;
    EXPECT_TRUE(are_described(one)) << one.kind;
  }
}

TEST(TableNode, Rows) {
  const std::vector<RowCase> cases = {
      {"bare", "", "Node", "",
       R"(["x","Unknown","<none>","24h","","<none>","<none>","<unknown>","<unknown>","<unknown>"])"},
      {"ready and cordoned", "", "Node",
       R"({"metadata":{"name":"gpu-1","creationTimestamp":"2026-02-20T12:00:00Z","labels":{
          "node-role.kubernetes.io/worker":"","node-role.kubernetes.io/gpu":"","kubernetes.io/role":"old",
          "node-role.kubernetes.io/":""}},
          "spec":{"unschedulable":true},
          "status":{"conditions":[{"type":"MemoryPressure","status":"False"},{"type":"Ready","status":"True"}],
          "addresses":[{"type":"Hostname","address":"h"},{"type":"InternalIP","address":"10.0.0.1"},
          {"type":"ExternalIP","address":"1.2.3.4"}],
          "nodeInfo":{"kubeletVersion":"v1.34.1","osImage":"Debian 12","kernelVersion":"6.1.0",
          "containerRuntimeVersion":"containerd://2.1"}}})",
       R"(["gpu-1","Ready,SchedulingDisabled","gpu,old,worker","10d","v1.34.1","10.0.0.1","1.2.3.4","Debian 12","6.1.0","containerd://2.1"])"},
      {"not ready", "", "Node", R"("status":{"conditions":[{"type":"Ready","status":"Unknown"}]})",
       R"(["x","NotReady","<none>","24h","","<none>","<none>","<unknown>","<unknown>","<unknown>"])"},
      {"held", "coordination.k8s.io", "Lease", R"("spec":{"holderIdentity":"me"})",
       R"(["x","me","24h"])"},
      {"free", "coordination.k8s.io", "Lease", "", R"(["x","","24h"])"},
      {"handler", "node.k8s.io", "RuntimeClass", R"("handler":"nvidia")",
       R"(["x","nvidia","24h"])"},
      {"", "resource.k8s.io", "DeviceClass", "", R"(["x","24h"])"},
      {"", "resource.k8s.io", "ResourceClaimTemplate", "", R"(["x","24h"])"},
      {"waits", "resource.k8s.io", "ResourceClaim", "", R"(["x","pending","24h"])"},
      {"allocated", "resource.k8s.io", "ResourceClaim", R"("status":{"allocation":{}})",
       R"(["x","allocated","24h"])"},
      {"in use", "resource.k8s.io", "ResourceClaim",
       R"("status":{"allocation":{},"reservedFor":[{}]})", R"(["x","allocated,reserved","24h"])"},
      {"going", "resource.k8s.io", "ResourceClaim",
       R"({"metadata":{"name":"x","deletionTimestamp":"2026-03-02T11:00:00Z"}})",
       R"(["x","deleted","<unknown>"])"},
      {"going and in use", "resource.k8s.io", "ResourceClaim",
       R"({"metadata":{"name":"x","deletionTimestamp":"2026-03-02T11:00:00Z"},
          "status":{"allocation":{},"reservedFor":[{}]}})",
       R"(["x","deleted,allocated,reserved","<unknown>"])"},
      {"of a node", "resource.k8s.io", "ResourceSlice",
       R"("spec":{"nodeName":"n","driver":"gpu.nvidia.com","pool":{"name":"p"}})",
       R"(["x","n","gpu.nvidia.com","p","24h"])"},
      {"of no node", "resource.k8s.io", "ResourceSlice", R"("spec":{"driver":"d"})",
       R"(["x","","d","","24h"])"},
      {"taint", "resource.k8s.io", "DeviceTaintRule",
       R"("spec":{"taint":{"key":"k","value":"v","effect":"NoExecute","timeAdded":"2026-03-02T11:00:00Z"}})",
       R"(["x","k","v","NoExecute","60m","24h"])"},
  };
  for (const RowCase& row : cases)
    EXPECT_EQ(cells_of(row), row.cells) << row.kind << ": " << row.name;
}

}  // namespace
}  // namespace lockstep::apiserver::table_node_test

#include <gtest/gtest.h>

#include "apiserver/schema_test_util.h"

namespace lockstep::apiserver {
namespace {

TEST_F(SchemaTest, TableHasTheFactsOfTheTypes) {
  const Schema* port = builtin().find("io.k8s.api.core.v1.ContainerPort");
  ASSERT_NE(port, nullptr);
  EXPECT_EQ(port->required, std::vector<std::string>{"containerPort"});
  EXPECT_EQ(*port->field("protocol")->default_value, Json("TCP"));
  const Schema* spec = builtin().find("io.k8s.api.core.v1.PodSpec");
  const Schema* containers = spec->field("containers");
  EXPECT_EQ(containers->list_kind, Schema::ListKind::map);
  EXPECT_EQ(containers->list_keys, std::vector<std::string>{"name"});
  EXPECT_EQ(containers->items, builtin().find("io.k8s.api.core.v1.Container"));
  EXPECT_EQ(spec->field("nosuch"), nullptr);
  EXPECT_TRUE(builtin().find("io.k8s.api.core.v1.LocalObjectReference")->atomic);
  EXPECT_EQ(builtin().of("", "v1", "Nosuch"), nullptr);
  EXPECT_EQ(
      builtin().describe_field(*builtin().find("io.k8s.api.core.v1.NodeSpec"), "unschedulable"),
      "True when no new pods may be scheduled here: the node is cordoned.");
  EXPECT_GT(builtin().all().size(), 350U);
}

}  // namespace
}  // namespace lockstep::apiserver

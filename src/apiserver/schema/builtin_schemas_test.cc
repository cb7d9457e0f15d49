#include <gtest/gtest.h>

#include "apiserver/schema/schema_test_util.h"

namespace lockstep::apiserver::builtin_schemas_test {
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

// Fields are found by an index that is made of their names: each must find itself, and no other.
TEST_F(SchemaTest, EveryFieldOfEveryTypeIsFound) {
  size_t count = 0;
  for (const Schema* schema : builtin().all()) {
    for (const auto& [name, field] : schema->fields) {
      EXPECT_EQ(schema->field(name), field) << schema->name << "." << name;
      EXPECT_EQ(schema->field(name + "x"), nullptr) << schema->name << "." << name;
      ++count;
    }
    EXPECT_EQ(schema->field(""), nullptr);
  }
  EXPECT_GT(count, 1500U);
}

TEST_F(SchemaTest, FieldsAreFoundWithAndWithoutAnIndex) {
  Schema text;
  Schema object;
  object.fields = {{"ab", &text}, {"ba", &object}};
  EXPECT_EQ(object.field("ba"), &object);
  object.index_fields();
  EXPECT_EQ(object.field("ba"), &object);
  EXPECT_EQ(object.field("ab"), &text);
  EXPECT_EQ(object.field("bb"), nullptr);
}

}  // namespace
}  // namespace lockstep::apiserver::builtin_schemas_test

#include "apiserver/schema/resources.h"

#include <gtest/gtest.h>

#include "apiserver/schema/schema_test_util.h"

namespace lockstep::apiserver::resources_test {
namespace {

Json crd(std::string_view kind, std::string_view plural, std::string_view version) {
  return json(
      fmt::format("{{'metadata':{{'name':'{1}.example.com'}},'spec':{{'group':'example.com','scope'"
                  ":'Cluster','names':"
                  "{{'kind':'{0}','plural':'{1}'}},'versions':[{{'name':'{2}','served':true,'"
                  "storage':true,'schema':"
                  "{{'openAPIV3Schema':{{'type':'object'}}}}}}]}}}}",
                  kind, plural, version));
}

class ResourceTableTest : public ::testing::Test {
 protected:
  BuiltinSchemas schemas_;
  ResourceTable table_{schemas_};
};

TEST_F(ResourceTableTest, EveryBuiltInHasItsSchema) {
  EXPECT_GE(table_.all().size(), 50U);
  for (const ResourceInfo* info : table_.all()) {
    ASSERT_NE(info->schema, nullptr) << info->type.full_name();
    EXPECT_NE(info->schema->field("metadata"), nullptr) << info->type.full_name();
    EXPECT_FALSE(info->schema->description.empty()) << info->type.full_name();
  }
}

TEST_F(ResourceTableTest, FindsByPluralAndKind) {
  const ResourceInfo* pods = table_.find("", "v1", "pods");
  ASSERT_NE(pods, nullptr);
  EXPECT_EQ(pods->type, resource::pods);
  EXPECT_EQ(pods->short_names, std::vector<std::string>{"po"});
  EXPECT_EQ(pods->categories, std::vector<std::string>{"all"});
  EXPECT_TRUE(pods->has("eviction"));
  EXPECT_FALSE(pods->has("log"));
  EXPECT_EQ(table_.find_kind("apps/v1", "DaemonSet")->type, resource::daemon_sets);
  EXPECT_EQ(table_.find(resource::leases)->list_kind, "LeaseList");
  EXPECT_EQ(table_.find("", "v1", "pod"), nullptr);
  EXPECT_EQ(table_.find("apps", "v1", "pods"), nullptr);
  EXPECT_EQ(table_.find_kind("v1", "DaemonSet"), nullptr);
  EXPECT_FALSE(table_.has_group_version("apps", "v1beta1"));
}

TEST_F(ResourceTableTest, BothKindsOfEventsAreStoredTogether) {
  EXPECT_EQ(table_.find("", "v1", "events")->storage,
            table_.find("events.k8s.io", "v1", "events")->storage);
  EXPECT_NE(table_.find("", "v1", "pods")->storage, table_.find("", "v1", "nodes")->storage);
}

TEST_F(ResourceTableTest, CustomResourcesComeAndGo) {
  uint64_t generation = table_.generation();
  Json widget = crd("Widget", "widgets", "v1");
  table_.add_custom(widget);
  const ResourceInfo* info = table_.find("example.com", "v1", "widgets");
  ASSERT_NE(info, nullptr);
  EXPECT_EQ(table_.generation(), generation + 1);
  EXPECT_EQ(table_.find_kind("example.com/v1", "Widget"), info);

  widget.get_object()["status"] = json("{'conditions':[]}");
  table_.add_custom(widget);
  EXPECT_EQ(table_.generation(), generation + 1) << "a new status is no change";

  table_.add_custom(crd("Widget", "widgets", "v2"));
  EXPECT_EQ(table_.find("example.com", "v1", "widgets"), nullptr);
  EXPECT_NE(table_.find("example.com", "v2", "widgets"), nullptr);
  EXPECT_EQ(info->type.kind, "Widget") << "a watch may still hold it";

  table_.remove_custom("widgets.example.com");
  EXPECT_EQ(table_.find("example.com", "v2", "widgets"), nullptr);
  EXPECT_EQ(table_.find_kind("example.com/v2", "Widget"), nullptr);
  uint64_t last = table_.generation();
  table_.remove_custom("nosuch.example.com");
  EXPECT_EQ(table_.generation(), last);
}

TEST_F(ResourceTableTest, BuiltInsCannotBeTakenOver) {
  const ResourceInfo* daemon_sets = table_.find("apps", "v1", "daemonsets");
  Json taken = crd("DaemonSet", "daemonsets", "v1");
  taken.get_object()["spec"].get_object()["group"] = "apps";
  table_.add_custom(taken);
  EXPECT_EQ(table_.find("apps", "v1", "daemonsets"), daemon_sets);
}

TEST_F(ResourceTableTest, GroupsInTheOrderOfDiscovery) {
  table_.add_custom(crd("Widget", "widgets", "v1"));
  std::vector<GroupVersions> groups = table_.groups();
  EXPECT_EQ(groups.front().group, "apps");
  EXPECT_EQ(groups.back().group, "example.com");
}

}  // namespace
}  // namespace lockstep::apiserver::resources_test

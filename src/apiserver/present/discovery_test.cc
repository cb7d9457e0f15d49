#include "apiserver/present/discovery.h"

#include <gtest/gtest.h>

#include "apiserver/schema/schema_test_util.h"

namespace lockstep::apiserver::discovery_test {
namespace {

class DiscoveryTest : public ::testing::Test {
 protected:
  static const Json& named(const Json& list, std::string_view key, std::string_view name) {
    static const Json nothing;
    for (const Json& item : list.get_array()) {
      if (text_at(item, key) == name) return item;
    }
    ADD_FAILURE() << "no " << name;
    return nothing;
  }

  BuiltinSchemas schemas_;
  ResourceTable table_{schemas_};
};

TEST_F(DiscoveryTest, AggregatedListsEverythingAtOnce) {
  Json core = aggregated_discovery(table_, true, "v2");
  EXPECT_EQ(text_at(core, "apiVersion"), "apidiscovery.k8s.io/v2");
  const Json& version =
      find(core, "items")->get_array().at(0).get_object().at("versions").get_array().at(0);
  EXPECT_EQ(text_at(version, "freshness"), "Current");
  EXPECT_EQ(
      named(*find(version, "resources"), "resource", "pods"),
      json("{'resource':'pods','responseKind':{'group':'','version':'','kind':'Pod'},"
           "'scope':'Namespaced','singularResource':'pod','verbs':['create','delete',"
           "'deletecollection','get','list','patch','update','watch'],'shortNames':['po'],"
           "'categories':['all'],'subresources':[{'subresource':'binding','responseKind':{'group':'"
           "',"
           "'version':'v1','kind':'Binding'},'verbs':['create']},{'subresource':'eviction',"
           "'responseKind':{'group':'policy','version':'v1','kind':'Eviction'},'verbs':['create']},"
           "{'subresource':'status','responseKind':{'group':'','version':'','kind':'Pod'},"
           "'verbs':['get','patch','update']}]}"));
  Json others = aggregated_discovery(table_, false, "v2beta1");
  EXPECT_EQ(text_at(others, "apiVersion"), "apidiscovery.k8s.io/v2beta1");
  EXPECT_EQ(find(others, "items")->get_array().size(), table_.groups().size());
}

TEST_F(DiscoveryTest, OldDocumentsAgree) {
  Json groups = api_groups(table_);
  EXPECT_EQ(named(*find(groups, "groups"), "name", "apps"),
            json("{'name':'apps','versions':[{'groupVersion':'apps/v1','version':'v1'}],"
                 "'preferredVersion':{'groupVersion':'apps/v1','version':'v1'}}"));
  EXPECT_EQ(text_at(*api_group(table_, "policy"), "kind"), "APIGroup");
  EXPECT_FALSE(api_group(table_, "nosuch"));
  std::optional<Json> apps = api_resources(table_, "apps", "v1");
  ASSERT_TRUE(apps);
  EXPECT_EQ(text_at(*apps, "groupVersion"), "apps/v1");
  EXPECT_EQ(
      named(*find(*apps, "resources"), "name", "deployments/scale"),
      json("{'name':'deployments/scale','singularName':'','namespaced':true,'group':'autoscaling',"
           "'version':'v1','kind':'Scale','verbs':['get','patch','update']}"));
  EXPECT_FALSE(api_resources(table_, "apps", "v2"));
  EXPECT_EQ(*find(api_versions(), "versions"), json("['v1']"));
}

TEST_F(DiscoveryTest, VersionIsThatOfTheTable) {
  EXPECT_EQ(text_at(server_version(), "minor"), "34");
  EXPECT_TRUE(text_at(server_version(), "gitVersion").starts_with("v1.34."));
}

}  // namespace
}  // namespace lockstep::apiserver::discovery_test

#include "apiserver/present/subresources.h"

#include <gtest/gtest.h>

#include "apiserver/schema/schema_test_util.h"

namespace lockstep::apiserver::subresources_test {
namespace {

TEST(Subresources, TakeKindsOfTheirOwn) {
  ResourceInfo info;
  info.type = {"apps", "v1", "Deployment", "deployments", true};
  struct Case {
    const char* name;
    const char* group;
    const char* kind;
    std::vector<std::string> verbs;
  };
  const Case cases[] = {
      {"status", "apps", "Deployment", {"get", "patch", "update"}},
      {"scale", "autoscaling", "Scale", {"get", "patch", "update"}},
      {"eviction", "policy", "Eviction", {"create"}},
      {"binding", "", "Binding", {"create"}},
      {"finalize", "apps", "Deployment", {"update"}},
  };
  for (const Case& each : cases) {
    Subresource sub = describe_subresource(info, each.name);
    EXPECT_EQ(sub.group, each.group) << each.name;
    EXPECT_EQ(sub.kind, each.kind) << each.name;
    EXPECT_EQ(sub.verbs, each.verbs) << each.name;
  }
}

}  // namespace
}  // namespace lockstep::apiserver::subresources_test

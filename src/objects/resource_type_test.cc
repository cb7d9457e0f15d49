#include "objects/resource_type.h"

#include <gtest/gtest.h>

namespace lockstep::resource_type_test {
namespace {

TEST(ResourceType, SpellsItsNames) {
  EXPECT_EQ(resource::pods.api_version(), "v1");
  EXPECT_EQ(resource::pods.full_name(), "pods");
  EXPECT_EQ(resource::daemon_sets.api_version(), "apps/v1");
  EXPECT_EQ(resource::daemon_sets.full_name(), "daemonsets.apps");
  EXPECT_FALSE(resource::nodes.namespaced);
  EXPECT_FALSE(resource::resource_slices.namespaced);
  EXPECT_TRUE(resource::resource_claims.namespaced);
}

TEST(ObjectKey, SpellsItself) {
  EXPECT_EQ((ObjectKey{"default", "web-1"}).text(), "default/web-1");
  EXPECT_EQ((ObjectKey{"", "gpu-7"}).text(), "gpu-7");
  EXPECT_LT((ObjectKey{"a", "z"}), (ObjectKey{"b", "a"}));
  for (const ObjectKey& key : {ObjectKey{"default", "web-1"}, ObjectKey{"", "gpu-7"}}) {
    EXPECT_EQ(ObjectKey::parse(key.text()), key);
  }
}

}  // namespace
}  // namespace lockstep::resource_type_test

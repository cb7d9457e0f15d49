#include "deploy/manifest_kinds.h"

#include <gtest/gtest.h>

namespace lockstep::deploy::manifest_kinds_test {
namespace {

Json object(std::string_view api_version, std::string_view kind) {
  return JsonObject{{"apiVersion", api_version},
                    {"kind", kind},
                    {"metadata", JsonObject{{"name", "a"}, {"namespace", "b"}}}};
}

TEST(ManifestKinds, AreFoundByGroupVersionAndKind) {
  EXPECT_EQ(kind_of(object("apps/v1", "Deployment"))->plural, "deployments");
  EXPECT_EQ(kind_of(object("v1", "ServiceAccount"))->plural, "serviceaccounts");
  EXPECT_FALSE(kind_of(object("apps/v1beta1", "Deployment")));
  auto unknown = kind_of(object("v1", "Secret"));
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().text(), "objects of kind v1 Secret cannot be installed");
}

TEST(ManifestKinds, WhatOthersNeedComesBeforeThem) {
  EXPECT_LT(apply_rank(object("v1", "ServiceAccount")),
            apply_rank(object("apps/v1", "Deployment")));
  EXPECT_LT(apply_rank(object("rbac.authorization.k8s.io/v1", "ClusterRoleBinding")),
            apply_rank(object("apps/v1", "Deployment")));
  EXPECT_LT(apply_rank(object("networking.k8s.io/v1", "NetworkPolicy")),
            apply_rank(object("apps/v1", "Deployment")));
}

TEST(ManifestKinds, AnObjectIsNamedAsPeopleNameIt) {
  EXPECT_EQ(describe(object("apps/v1", "Deployment")), "Deployment b/a");
  EXPECT_EQ(key_of(object("v1", "Service")), (ObjectKey{"b", "a"}));
}

}  // namespace
}  // namespace lockstep::deploy::manifest_kinds_test

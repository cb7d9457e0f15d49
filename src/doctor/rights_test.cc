#include "doctor/rights.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace lockstep::doctor::rights_test {
namespace {

TEST(Rights, AReviewAsksForOneThing) {
  Right right{"create", "", "pods", "eviction", ""};
  EXPECT_EQ(print_json(review_of(right, "")),
            R"({"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectAccessReview",)"
            R"("spec":{"resourceAttributes":{"verb":"create","group":"","resource":"pods",)"
            R"("subresource":"eviction"}}})");
  Json other = review_of(right, "system:serviceaccount:a:b");
  EXPECT_EQ(text_at(other, "kind"), "SubjectAccessReview");
  EXPECT_EQ(text_at(other, "spec", "user"), "system:serviceaccount:a:b");
}

TEST(Rights, WhatIsGrantedByNameIsAskedByName) {
  Json review = review_of({"update", "coordination.k8s.io", "leases", "", "here", "one"}, "");
  EXPECT_EQ(text_at(review, "spec", "resourceAttributes", "name"), "one");
  EXPECT_EQ(text_at(review, "spec", "resourceAttributes", "namespace"), "here");
  Json create = review_of({"create", "", "configmaps", "", "here", ""}, "");
  EXPECT_EQ(text_at(create, "spec", "resourceAttributes", "name"), "");
}

TEST(Rights, NoAnswerIsNoPermission) {
  EXPECT_EQ(verdict_of(JsonObject{{"status", JsonObject{{"allowed", true}}}}), true);
  EXPECT_EQ(verdict_of(JsonObject{{"status", JsonObject{{"allowed", false}}}}), false);
  EXPECT_EQ(verdict_of(JsonObject{{"spec", JsonObject{}}}), std::nullopt);
}

TEST(Rights, AreThoseOfEveryRoleOneByOne) {
  auto manifests = parse_json(R"([
      {"kind":"ClusterRole","rules":[
        {"apiGroups":[""],"resources":["nodes"],"verbs":["get","patch"]},
        {"apiGroups":[""],"resources":["pods/eviction"],"verbs":["create"]}]},
      {"kind":"Role","metadata":{"namespace":"here"},"rules":[
        {"apiGroups":["coordination.k8s.io"],"resources":["leases"],"resourceNames":["one"],
         "verbs":["update"]}]},
      {"kind":"RoleBinding"},{"kind":"ClusterRole"}])");
  ASSERT_TRUE(manifests.has_value());
  const JsonArray& list = manifests->as_array();
  EXPECT_EQ(rights_in({list.begin(), list.end()}),
            (std::vector<Right>{{"get", "", "nodes"},
                                {"patch", "", "nodes"},
                                {"create", "", "pods", "eviction"},
                                {"update", "coordination.k8s.io", "leases", "", "here", "one"}}));
  EXPECT_EQ((Right{"patch", "", "nodes"}).text(), "patch nodes");
  EXPECT_EQ((Right{"get", "apps", "daemonsets", "", "x", "y"}).text(),
            "get daemonsets.apps y in x");
}

}  // namespace
}  // namespace lockstep::doctor::rights_test

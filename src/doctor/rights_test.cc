#include "doctor/rights.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace lockstep::doctor {
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
  Json review = review_of({"update", "coordination.k8s.io", "leases", "", "lockstep-system"}, "");
  EXPECT_EQ(text_at(review, "spec", "resourceAttributes", "name"), "lockstep-controller");
  EXPECT_EQ(text_at(review, "spec", "resourceAttributes", "namespace"), "lockstep-system");
  Json create = review_of({"create", "", "configmaps", "", "lockstep-system"}, "");
  EXPECT_EQ(text_at(create, "spec", "resourceAttributes", "name"), "");
}

TEST(Rights, NoAnswerIsNoPermission) {
  EXPECT_EQ(verdict_of(JsonObject{{"status", JsonObject{{"allowed", true}}}}), true);
  EXPECT_EQ(verdict_of(JsonObject{{"status", JsonObject{{"allowed", false}}}}), false);
  EXPECT_EQ(verdict_of(JsonObject{{"spec", JsonObject{}}}), std::nullopt);
}

TEST(Rights, OnlyLeaseAndSlotsAreAskedInOneNamespace) {
  auto rights = rights_of_controller("here");
  EXPECT_GT(rights.size(), 20U);
  for (const Right& right : rights) {
    bool own = right.resource == "leases" || right.resource == "configmaps";
    EXPECT_EQ(right.ns, own ? "here" : "") << right.text();
  }
  EXPECT_EQ((Right{"patch", "", "nodes"}).text(), "patch nodes");
  EXPECT_EQ((Right{"get", "apps", "daemonsets", "", "x"}).text(), "get daemonsets.apps in x");
}

}  // namespace
}  // namespace lockstep::doctor

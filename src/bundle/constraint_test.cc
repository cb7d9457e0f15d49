#include "bundle/constraint.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace lockstep::bundle::constraint_test {
namespace {

bool meets(std::string_view found, std::string_view demanded) {
  auto expression = parse_constraint_expression(demanded);
  EXPECT_TRUE(expression.has_value()) << expression.error().text();
  return expression && evaluate(*expression, found);
}

std::string expression_error(std::string_view text) {
  auto expression = parse_constraint_expression(text);
  return expression ? "" : expression.error().text();
}

TEST(Constraint, APathIsTypeSubtypeAndAKeyWithItsDots) {
  EXPECT_EQ(*parse_constraint_path("K8s.server.version"),
            (ConstraintPath{"K8s", "server", "version"}));
  EXPECT_EQ(*parse_constraint_path("OS.sysctl./proc/sys/net.ipv4.x"),
            (ConstraintPath{"OS", "sysctl", "/proc/sys/net.ipv4.x"}));
  EXPECT_EQ(to_string(*parse_constraint_path("GPU.smi.gpu.model")), "GPU.smi.gpu.model");
}

TEST(Constraint, APathThatLacksAPartIsRefused) {
  for (std::string_view bad : {"", "K8s", "K8s.server", "K8s.server.", "K8s..version", ".a.b"}) {
    auto path = parse_constraint_path(bad);
    ASSERT_FALSE(path.has_value()) << bad;
    EXPECT_NE(path.error().text().find("Type.Subtype.Key"), std::string::npos);
  }
}

TEST(Constraint, VersionsAreComparedAtTheLowerPrecision) {
  EXPECT_TRUE(meets("1.33.5", "== 1.33"));
  EXPECT_TRUE(meets("1.33", "== 1.33.5"));
  EXPECT_FALSE(meets("1.33.5", "!= 1.33"));
  EXPECT_FALSE(meets("1.33.5", "> 1.33"));
  EXPECT_TRUE(meets("1.33.5", "<= 1.33"));
  EXPECT_TRUE(meets("1.33", ">= 1.33.5"));
  EXPECT_TRUE(meets("580.126.20", ">= 580"));
}

TEST(Constraint, EveryOperatorOrders) {
  EXPECT_TRUE(meets("1.33", ">= 1.32"));
  EXPECT_FALSE(meets("1.31", ">= 1.32"));
  EXPECT_TRUE(meets("1.33", "> 1.32"));
  EXPECT_FALSE(meets("1.32", "> 1.32"));
  EXPECT_TRUE(meets("1.31", "< 1.32"));
  EXPECT_FALSE(meets("1.32", "< 1.32"));
  EXPECT_TRUE(meets("1.32", "<= 1.32"));
  EXPECT_FALSE(meets("1.33", "<= 1.32"));
  EXPECT_TRUE(meets("1.33", "!= 1.32"));
  EXPECT_FALSE(meets("1.33", "== 1.32"));
}

TEST(Constraint, NumbersAreComparedAsNumbers) {
  EXPECT_TRUE(meets("1.10", "> 1.9"));
  EXPECT_TRUE(meets("24.04", "== 24.4"));
  EXPECT_TRUE(meets("6.8.0-1024-aws", ">= 6.8"));
  EXPECT_TRUE(meets("1.99999999999999999999999", "> 1.99999999999999999999998"));
  EXPECT_TRUE(meets("0.0", "== 0.00"));
}

TEST(Constraint, PrefixAndSuffixOfAVersionDoNotCount) {
  EXPECT_TRUE(meets("v1.33.5-eks-3025e55", ">= 1.32.4"));
  EXPECT_TRUE(meets("v1.33.5-eks-3025e55", "== 1.33.5"));
  EXPECT_TRUE(meets("1.34.3+k3s1", ">= v1.34.3-gke.1318000"));
}

TEST(Constraint, WithoutAnOperatorTheTextItselfIsDemanded) {
  EXPECT_TRUE(meets("ubuntu", "ubuntu"));
  EXPECT_FALSE(meets("Ubuntu", "ubuntu"));
  EXPECT_TRUE(meets(" 24.04 ", "24.04"));
  EXPECT_FALSE(meets("24.04.1", "24.04"));
}

TEST(Constraint, TextsAreOnlyEqualOrNot) {
  EXPECT_TRUE(meets("ubuntu", "== ubuntu"));
  EXPECT_FALSE(meets("rhel", "== ubuntu"));
  EXPECT_TRUE(meets("rhel", "!= ubuntu"));
  EXPECT_FALSE(meets("8.1", "== 8")) << "a whole number is no version";
  EXPECT_FALSE(meets("unknown", "== 1.33"));
  EXPECT_TRUE(meets("unknown", "!= 1.33"));
  EXPECT_NE(expression_error(">= ubuntu").find("no version"), std::string::npos);
}

TEST(Constraint, WhatIsNoVersionMeetsNothingThatOrders) {
  for (std::string_view demanded : {">= 1.0", "<= 1.0", "> 1.0", "< 1.0"}) {
    EXPECT_FALSE(meets("unknown", demanded)) << demanded;
    EXPECT_FALSE(meets("", demanded)) << demanded;
    EXPECT_FALSE(meets("1..2", demanded)) << demanded;
  }
}

TEST(Constraint, AnExpressionThatSaysNothingOrTooMuchIsRefused) {
  EXPECT_NE(expression_error("").find("says nothing"), std::string::npos);
  EXPECT_NE(expression_error(">= ").find("says nothing"), std::string::npos);
  EXPECT_NE(expression_error("=1.2").find("no operator that is known"), std::string::npos);
  EXPECT_NE(expression_error("=> 1.2").find("no operator that is known"), std::string::npos);
  EXPECT_NE(expression_error("!ubuntu").find("no operator that is known"), std::string::npos);
  EXPECT_NE(expression_error(">= 1.2 < 1.4").find("no version"), std::string::npos);
}

TEST(Constraint, TheSpaceAfterTheOperatorIsFree) {
  EXPECT_TRUE(meets("1.33", ">=1.32"));
  EXPECT_TRUE(meets("1.33", "  >=   1.32  "));
}

RC_GTEST_PROP(Constraint, EveryOperatorHasItsOpposite, ()) {
  auto version = [] {
    auto parts = *rc::gen::nonEmpty(
        rc::gen::resize(4, rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 3))));
    std::string text = std::to_string(parts.front());
    for (size_t i = 1; i < parts.size(); ++i) text += "." + std::to_string(parts[i]);
    return text;
  };
  std::string found = version();
  std::string wanted = version();
  RC_ASSERT(meets(found, ">= " + wanted) != meets(found, "< " + wanted));
  RC_ASSERT(meets(found, "<= " + wanted) != meets(found, "> " + wanted));
  RC_ASSERT(meets(found, "== " + wanted) != meets(found, "!= " + wanted));
  RC_ASSERT(meets(found, ">= " + wanted) == meets(wanted, "<= " + found));
}

}  // namespace
}  // namespace lockstep::bundle::constraint_test

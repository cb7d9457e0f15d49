#include "bundle/criteria.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace lockstep::bundle::criteria_test {
namespace {

constexpr auto words_text =
    "kind: CriteriaWords\n"
    "service: {words: [eks, gke], aliases: {self-managed: any}}\n"
    "os: {words: [ubuntu, amazonlinux], aliases: {al2: amazonlinux}}\n";

CriteriaWords words_of(std::string text) {
  CriteriaWords words;
  auto added = words.add(*YamlFile::parse("criteria.yaml", std::move(text)));
  EXPECT_TRUE(added.has_value()) << added.error().text();
  return words;
}

std::string error_of(std::string text) {
  CriteriaWords words;
  auto added = words.add(*YamlFile::parse("criteria.yaml", std::move(text)));
  return added ? "" : added.error().text();
}

TEST(Criteria, ARuleAppliesWhenTheQuerySaysWhatItSays) {
  Criteria open;
  Criteria eks{.service = "eks"};
  Criteria eks_ubuntu{.service = "eks", .os = "ubuntu"};
  Criteria sixteen{.nodes = 16};
  EXPECT_TRUE(matches(open, open));
  EXPECT_TRUE(matches(open, eks));
  EXPECT_TRUE(matches(eks, eks_ubuntu));
  EXPECT_FALSE(matches(eks, open)) << "a query of any does not match what says something";
  EXPECT_FALSE(matches(eks_ubuntu, eks));
  EXPECT_FALSE(matches(eks, Criteria{.service = "gke"}));
  EXPECT_TRUE(matches(open, sixteen));
  EXPECT_FALSE(matches(sixteen, open));
  EXPECT_FALSE(matches(sixteen, Criteria{.nodes = 8}));
  EXPECT_EQ(mismatches(eks_ubuntu, sixteen), (std::set<std::string>{"os", "service"}));
}

TEST(Criteria, SpecificityCountsWhatIsSaid) {
  EXPECT_EQ(specificity({}), 0);
  EXPECT_EQ(specificity({.service = "eks", .nodes = 3}), 2);
  EXPECT_EQ(specificity({"a", "b", "c", "d", "e", 1}), 6);
}

RC_GTEST_PROP(Criteria, WhatAppliesIsNeverMoreSpecificThanTheQuery, ()) {
  auto any_criteria = [] {
    auto word = [] { return *rc::gen::element<std::string>("", "a", "b"); };
    Criteria criteria{word(), word(), word(), word(), word(), 0};
    criteria.nodes = *rc::gen::inRange(0, 3);
    return criteria;
  };
  Criteria rule = any_criteria();
  Criteria query = any_criteria();
  RC_ASSERT(matches(query, query));
  if (matches(rule, query)) RC_ASSERT(specificity(rule) <= specificity(query));
}

TEST(Criteria, IsPrintedAsAicrPrintsIt) {
  EXPECT_EQ(print_json(to_json(Criteria{.service = "eks"})),
            R"({"service":"eks","accelerator":"any","intent":"any","os":"any","platform":"any"})");
  EXPECT_EQ(as_integer(to_json(Criteria{.nodes = 4}).if_contains("nodes")), 4);
  EXPECT_EQ(describe(Criteria{}), "any");
  EXPECT_EQ(describe(Criteria{.service = "eks", .os = "ubuntu", .nodes = 2}),
            "service eks, os ubuntu, nodes 2");
}

TEST(CriteriaWords, AreLowerCasedAndAliasesAreResolved) {
  CriteriaWords words = words_of(words_text);
  EXPECT_EQ(words.normalize("service", " EKS "), "eks");
  EXPECT_EQ(words.normalize("service", "any"), "");
  EXPECT_EQ(words.normalize("service", ""), "");
  EXPECT_EQ(words.normalize("service", "Self-Managed"), "");
  EXPECT_EQ(words.normalize("os", "al2"), "amazonlinux");
  auto criteria = words.normalize(Criteria{.service = "GKE", .os = "AL2"});
  EXPECT_EQ(criteria, (Criteria{.service = "gke", .os = "amazonlinux"}));
}

TEST(CriteriaWords, AnUnknownWordIsAnErrorWithTheNearestOrTheKnownOnes) {
  CriteriaWords words = words_of(words_text);
  EXPECT_EQ(words.normalize("service", "ekss").error().message,
            "unknown service \"ekss\"; did you mean \"eks\"?");
  EXPECT_EQ(words.normalize("os", "plan9").error().message,
            "unknown os \"plan9\"; expected one of: amazonlinux, ubuntu");
  EXPECT_EQ(words.normalize("intent", "training").error().message, "unknown intent \"training\"");
  EXPECT_FALSE(words.normalize(Criteria{.platform = "x"}).has_value());
  EXPECT_FALSE(words.normalize(Criteria{.nodes = -1}).has_value());
}

TEST(CriteriaWords, AreAddedToThoseOfTheLayersBelow) {
  CriteriaWords words = words_of(words_text);
  ASSERT_TRUE(
      words.add(*YamlFile::parse("mine.yaml", "kind: CriteriaWords\nservice: {words: [x]}")));
  EXPECT_EQ(words.words("service"), (std::set<std::string>{"eks", "gke", "x"}));
}

TEST(CriteriaWords, AWrongFileIsRefused) {
  EXPECT_EQ(error_of("kind: Other\n"),
            "criteria.yaml:1:1: kind: must be CriteriaWords, not \"Other\"");
  EXPECT_NE(error_of("kind: CriteriaWords\nservcie: {words: [a]}\n").find("\"service\""),
            std::string::npos);
  EXPECT_NE(error_of("kind: CriteriaWords\nos: {words: [Big]}\n").find("lower case"),
            std::string::npos);
  EXPECT_NE(error_of("kind: CriteriaWords\nos: {words: [a], aliases: {b: c}}\n").find("\"b\""),
            std::string::npos);
}

TEST(CriteriaOfAnOverlay, AreReadWithTheirPlace) {
  CriteriaWords words = words_of(words_text);
  auto read = [&](std::string text) -> Result<Criteria> {
    LOCKSTEP_TRY(YamlFile file, YamlFile::parse("o.yaml", std::move(text)));
    Criteria criteria;
    LOCKSTEP_CHECK(
        read_strictly(file, [&](StrictReader& object) { read_criteria(object, words, criteria); }));
    return criteria;
  };
  EXPECT_EQ(read("service: EKS\nintent: any\nnodes: 4\n"),
            (Criteria{.service = "eks", .nodes = 4}));
  EXPECT_EQ(read("service: eks\nos: ubuntoo\n").error().text(),
            "o.yaml:2:1: os: unknown os \"ubuntoo\"; did you mean \"ubuntu\"?");
  EXPECT_NE(read("sevrice: eks\n").error().text().find("\"service\""), std::string::npos);
}

}  // namespace
}  // namespace lockstep::bundle::criteria_test

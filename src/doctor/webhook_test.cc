#include "doctor/webhook.h"

#include <gtest/gtest.h>

namespace lockstep::doctor::webhook_test {
namespace {

Json parsed(std::string_view text) {
  auto json = parse_json(text);
  EXPECT_TRUE(json.has_value()) << text;
  return json ? *json : Json();
}

std::vector<Webhook> with_rule(const std::string& rule) {
  return read_webhooks(
      parsed(R"({"metadata":{"name":"guard"},"webhooks":[{"name":"a.b","clientConfig":{"service":)"
             R"({"namespace":"x","name":"y"},"caBundle":"QQ=="},"rules":[)" +
             rule + "]}]}"),
      false);
}

TEST(Webhook, WhatItIsAskedAbout) {
  struct Case {
    const char* rule;
    std::vector<std::string> asked_about;
  };
  const std::vector<Case> cases = {
      {R"({"operations":["CREATE"],"apiGroups":[""],"resources":["pods/eviction"]})",
       {"evictions"}},
      {R"({"operations":["*"],"apiGroups":["*"],"resources":["*/*"]})",
       {"evictions", "deletions of pods", "changes of nodes"}},
      {R"({"operations":["DELETE"],"apiGroups":[""],"resources":["pods"]})", {"deletions of pods"}},
      {R"({"operations":["UPDATE"],"apiGroups":[""],"resources":["nodes"]})", {"changes of nodes"}},
      {R"({"operations":["CREATE"],"apiGroups":[""],"resources":["pods"]})", {}},
      {R"({"operations":["*"],"apiGroups":["apps"],"resources":["*"]})", {}},
      {R"({"operations":["DELETE"],"apiGroups":[""],"resources":["pods/eviction"]})", {}},
  };
  for (const Case& each : cases) {
    auto found = with_rule(each.rule);
    ASSERT_EQ(found.size(), 1U) << each.rule;
    EXPECT_EQ(found[0].asked_about, each.asked_about) << each.rule;
    EXPECT_EQ(found[0].service, (ObjectKey{"x", "y"}));
    EXPECT_TRUE(found[0].fails_closed) << "the default";
    EXPECT_EQ(found[0].configuration, "validatingwebhookconfiguration/guard");
    EXPECT_EQ(found[0].ca_bundle, "QQ==");
  }
}

TEST(Webhook, FailsOpenAndLimits) {
  auto found = read_webhooks(
      parsed(R"({"metadata":{"name":"m"},"webhooks":[{"name":"a","failurePolicy":"Ignore"},)"
             R"({"name":"b","namespaceSelector":{"matchLabels":{"a":"b"}}},)"
             R"({"name":"c","namespaceSelector":{},"matchConditions":[]}]})"),
      true);
  ASSERT_EQ(found.size(), 3U);
  EXPECT_FALSE(found[0].fails_closed);
  EXPECT_TRUE(found[1].fails_closed);
  EXPECT_TRUE(found[1].is_limited);
  EXPECT_FALSE(found[2].is_limited);
  EXPECT_EQ(found[2].index, 2U);
  EXPECT_EQ(found[0].configuration, "mutatingwebhookconfiguration/m");
}

TEST(Webhook, AConfigurationWithoutWebhooksHasNone) {
  EXPECT_TRUE(read_webhooks(parsed(R"({"metadata":{"name":"m"}})"), true).empty());
  EXPECT_TRUE(read_webhooks(parsed(R"({"webhooks":7})"), true).empty());
}

TEST(ReadyServices, AreThoseWithAReadyAddress) {
  auto slice = [](const std::string& service, const std::string& endpoints) {
    return std::make_shared<const Json>(
        parsed(R"({"metadata":{"namespace":"x","labels":{"kubernetes.io/service-name":")" +
               service + R"("}},"endpoints":)" + endpoints + "}"));
  };
  auto ready = ready_services({slice("yes", R"([{"conditions":{"ready":true}}])"),
                               slice("unsaid", R"([{"addresses":["1.2.3.4"]}])"),
                               slice("no", R"([{"conditions":{"ready":false}}])"),
                               slice("empty", "[]"), slice("null", "null")});
  EXPECT_EQ(ready, (std::vector<ObjectKey>{{"x", "yes"}, {"x", "unsaid"}}));
}

}  // namespace
}  // namespace lockstep::doctor::webhook_test

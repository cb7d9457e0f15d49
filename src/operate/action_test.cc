#include "operate/action.h"

#include <gtest/gtest.h>

#include "rollout/rollout_view.h"

namespace lockstep::operate::action_test {
namespace {

constexpr Time now = Time::from_unix(1'800'000'000);

Action action(std::string verb, ActionTarget target, std::string name) {
  return {std::move(verb), target, std::move(name), "", "because"};
}

std::vector<kube::Request> requests(const Action& action, std::vector<PolicyObject> policies = {},
                                    const Json& object = nullptr) {
  auto made = requests_of(action, {"ada", {}}, now, fleet::Keys(), policies, object);
  EXPECT_TRUE(made) << (made ? "" : made.error().text());
  return made ? *made : std::vector<kube::Request>();
}

TEST(Action, IsReadStrictly) {
  auto good =
      read_action(R"({"verb":"retry","target":"node","name":"gpu-7","reason":" new\ncable "})");
  ASSERT_TRUE(good) << good.error().text();
  EXPECT_EQ(good->target, ActionTarget::node);
  EXPECT_EQ(good->reason, "new cable");
  struct Row {
    const char* body;
    const char* says;
  };
  for (const Row& row : {
           Row{"", ""},
           Row{"[]", "must be a map"},
           Row{R"({"verb":"retry","target":"node","name":"gpu-7"})", "reason: is missing"},
           Row{R"({"verb":"retry","target":"node","name":"gpu-7","reason":"  "})",
               "reason: is missing"},
           Row{R"({"verb":"retry","target":"node","name":"","reason":"x"})", "name: is missing"},
           Row{R"({"verb":"retry","target":"node","name":"../pods","reason":"x"})",
               "name: must be the name of a Kubernetes object"},
           Row{R"({"verb":"delete","target":"node","name":"gpu-7","reason":"x"})",
               "verb: unknown value \"delete\"; expected one of: retry, skip, unskip"},
           Row{R"({"verb":"promote","target":"node","name":"gpu-7","reason":"x"})",
               "verb: unknown value \"promote\""},
           Row{R"({"verb":"retry","target":"nod","name":"gpu-7","reason":"x"})",
               "target: unknown value \"nod\"; did you mean \"node\"?"},
           Row{R"({"verb":"retry","name":"gpu-7","reason":"x"})", "target: is missing"},
           Row{R"({"target":"node","name":"gpu-7","reason":"x"})", "verb: is missing"},
           Row{R"({"verb":"retry","target":"node","name":"gpu-7","reason":"x","more":"y"})",
               "more: unknown field"},
           Row{R"({"verb":"retry","target":"node","name":7,"reason":"x"})",
               "name: must be a string"},
           Row{R"({"verb":"retry","target":"node","name":"gpu-7","wave":null,"reason":"x"})",
               "wave: must be a string"},
       }) {
    auto read = read_action(row.body);
    ASSERT_FALSE(read) << row.body;
    EXPECT_TRUE(read.error().text().starts_with(row.says)) << read.error().text();
  }
}

TEST(Action, PausesEveryPolicyOfThePool) {
  auto made = requests(action("pause", ActionTarget::pool, ""),
                       {{fleet::cluster_policies, "a"}, {fleet::cluster_policies, "b"}});
  ASSERT_EQ(made.size(), 2U);
  EXPECT_EQ(made[0].name, "a");
  EXPECT_EQ(text_at(*made[1].body, "metadata", "annotations", fleet::paused_annotation),
            "2027-01-15T08:00:00Z by ada: because");
  made = requests(action("resume", ActionTarget::pool, ""), {{fleet::cluster_policies, "a"}});
  EXPECT_TRUE(
      find(*made.at(0).body, "metadata", "annotations", fleet::paused_annotation)->is_null());
  EXPECT_FALSE(requests_of(action("pause", ActionTarget::pool, ""), {"ada", {}}, now, fleet::Keys(),
                           {}, {}));
}

Json node_with(std::string_view label, std::string_view value) {
  return JsonObject{
      {"metadata", JsonObject{{"name", "gpu-7"}, {"labels", JsonObject{{label, value}}}}}};
}

TEST(Action, SteersNodesByTheirLabels) {
  fleet::Keys keys;
  const Json failed = node_with(keys.state, "upgrade-failed");
  auto made = requests(action("retry", ActionTarget::node, "gpu-7"), {}, failed);
  ASSERT_EQ(made.size(), 1U);
  EXPECT_EQ(made[0].path(), "/api/v1/nodes/gpu-7");
  EXPECT_EQ(text_at(*made[0].body, "metadata", "labels", keys.state), "upgrade-required");
  EXPECT_EQ(text_at(*made[0].body, "metadata", "annotations", rollout::steered_annotation),
            "2027-01-15T08:00:00Z retry by ada: because");
  made = requests(action("skip", ActionTarget::node, "gpu-7"), {}, failed);
  EXPECT_EQ(text_at(*made.at(0).body, "metadata", "labels", keys.skip), "true");
  const Json skipped = node_with(keys.skip, "true");
  made = requests(action("unskip", ActionTarget::node, "gpu-7"), {}, skipped);
  EXPECT_TRUE(find(*made.at(0).body, "metadata", "labels", keys.skip)->is_null());
  for (const char* verb : {"retry", "skip"}) {
    auto refused =
        requests_of(action(verb, ActionTarget::node, "gpu-7"), {"ada", {}}, now, keys, {}, skipped);
    ASSERT_FALSE(refused) << verb
                          << " changes nothing on a node that is skipped and has not failed";
    EXPECT_EQ(refused.error().kind, ErrorKind::conflict);
  }
}

Json rollout_in(std::string_view phase, bool paused = false) {
  Json revision = JsonObject{{"version", "570"}, {"revisions", JsonObject{{"ns/set", "old"}}}};
  return JsonObject{
      {"spec", JsonObject{{"driver", JsonObject{{"kind", "ClusterPolicy"}, {"name", "x"}}},
                          {"paused", paused}}},
      {"status", JsonObject{{"phase", phase},
                            {"from", std::move(revision)},
                            {"openWaves", 1},
                            {"waves", JsonArray{JsonObject{{"name", "canary"},
                                                           {"opened", "2026-11-01T00:00:00Z"},
                                                           {"done", 1}}}}}}};
}

TEST(Action, CommandsARolloutAsTheCommandLineDoes) {
  Action promote = action("promote", ActionTarget::rollout, "weekly");
  promote.wave = "canary";
  auto made = requests(promote, {}, rollout_in("AwaitingApproval"));
  ASSERT_EQ(made.size(), 1U);
  auto command = rollout::Command::parse(
      text_at(*made[0].body, "metadata", "annotations", rollout::command_annotation));
  ASSERT_TRUE(command);
  EXPECT_EQ(command->verb, "promote");
  EXPECT_EQ(command->wave, "canary");
  EXPECT_EQ(command->by, "ada");
  EXPECT_EQ(text_at(*made[0].body, "metadata", "annotations", rollout::command_by_annotation),
            "ada");
  made = requests(action("pause", ActionTarget::rollout, "weekly"), {}, rollout_in("Upgrading"));
  EXPECT_TRUE(as_bool(find(*made.at(0).body, "spec", "paused")));
  EXPECT_EQ(find(*made[0].body, "metadata", "annotations", rollout::command_annotation), nullptr);
  EXPECT_NE(find(*made[0].body, "metadata", "annotations", rollout::steered_annotation), nullptr);
  made = requests(action("rollback", ActionTarget::rollout, "weekly"), {},
                  rollout_in("Complete", true));
  EXPECT_EQ(*find(*made.at(0).body, "spec", "paused"), Json(false)) << "a rollback ends a pause";
}

TEST(Action, ACommandThatWouldBeIgnoredIsRefusedAsByTheCommandLine) {
  auto refused = requests_of(action("promote", ActionTarget::rollout, "weekly"), {"ada", {}}, now,
                             fleet::Keys(), {}, rollout_in("Complete"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::conflict);
  EXPECT_NE(refused.error().text().find("Next: lockstep rollout rollback | pause weekly"),
            std::string::npos)
      << refused.error().text();
}

TEST(Action, ALineStaysALineAndWhole) {
  EXPECT_EQ(clean_line(" a\r\nb\x7f ", 100), "a  b");
  EXPECT_EQ(clean_line("abcdef", 3), "abc");
  EXPECT_EQ(clean_line("a\xc3\xa4z", 2), "a") << "no half of a letter";
}

// A page always says why; a command need not.
TEST(Action, WithoutAReasonSaysWhoAndWhen) {
  Action pause = action("pause", ActionTarget::pool, "");
  pause.reason.clear();
  auto made = requests(pause, {{fleet::cluster_policies, "a"}});
  ASSERT_EQ(made.size(), 1U);
  EXPECT_EQ(text_at(*made[0].body, "metadata", "annotations", fleet::paused_annotation),
            "2027-01-15T08:00:00Z by ada");
}

TEST(Action, ANodeThatHasNotFailedIsRetriedByForceAlone) {
  const fleet::Keys keys;
  Action retry = action("retry", ActionTarget::node, "gpu-7");
  const Json node = node_with(keys.state, "upgrade-done");
  EXPECT_FALSE(requests_of(retry, {"ada", {}}, now, keys, {}, node));
  retry.force = true;
  auto made = requests_of(retry, {"ada", {}}, now, keys, {}, node);
  ASSERT_TRUE(made) << made.error().text();
  EXPECT_EQ(text_at(*made->at(0).body, "metadata", "labels", keys.state), "upgrade-required");
}

}  // namespace
}  // namespace lockstep::operate::action_test

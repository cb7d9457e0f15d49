#include "dashboard/fleet_source.h"

#include <gtest/gtest.h>

#include "view/fleet_test_util.h"

namespace lockstep::dashboard::fleet_source_test {
namespace {

using view::TestFleet;

struct Scene {
  explicit Scene(const std::string& read_only = {})
      : api(fleet.backend, {"dashboard", {}, "test"}),
        watch(api, fleet.loop, fleet.random, log, {}),
        source({watch, api, fleet.loop, model,
                [this](const std::string& token) -> Result<std::unique_ptr<kube::Api>> {
                  tokens.push_back(token);
                  if (token == "bad") return fail(ErrorKind::invalid, "no token");
                  return std::unique_ptr<kube::Api>(std::make_unique<apiserver::InProcessApi>(
                      fleet.backend, apiserver::Caller{"ada", {}, "test"}));
                },
                [](bool assume) { return Json(JsonObject{{"assume", assume}}); }, read_only}) {
    watch.start();
    fleet.loop.run_for(seconds(5));
  }
  Result<Json> act(const std::string& body, const std::string& token = "t") {
    auto action = operate::read_action(body);
    EXPECT_TRUE(action) << (action ? "" : action.error().text());
    source.act(token, *action, take);
    fleet.loop.run_for(seconds(1));
    return *found;
  }

  TestFleet fleet;
  apiserver::InProcessApi api;
  SilentLog log;
  view::FleetWatch watch;
  FleetModel model;
  std::vector<std::string> tokens;
  std::optional<Result<Json>> found;
  JsonCallback take = [this](Result<Json> result) { found = std::move(result); };
  FleetSource source;
};

TEST(FleetSource, GivesANodeWithItsEvents) {
  Scene scene;
  scene.fleet.must(
      kube::create(resource::events, "default",
                   JsonObject{{"apiVersion", "v1"},
                              {"kind", "Event"},
                              {"metadata", JsonObject{{"name", "e1"}, {"namespace", "default"}}},
                              {"involvedObject", JsonObject{{"kind", "Node"}, {"name", "gpu-1"}}},
                              {"type", "Warning"},
                              {"reason", "Trouble"},
                              {"message", "a cable"},
                              {"lastTimestamp", "2026-01-01T00:00:00Z"}}));
  scene.source.node("gpu-1", scene.take);
  scene.fleet.loop.run_for(seconds(1));
  ASSERT_TRUE(scene.found && *scene.found);
  const Json& card = **scene.found;
  EXPECT_EQ(card.at("name").as_string(), "gpu-1");
  ASSERT_EQ(card.at("events").as_array().size(), 1U);
  EXPECT_EQ(card.at("events").at(0).at("message").as_string(), "a cable");
  scene.source.node("gpu-9", scene.take);
  ASSERT_FALSE(*scene.found);
  EXPECT_EQ(scene.found->error().kind, ErrorKind::not_found);
}

TEST(FleetSource, PausesTheClusterPolicyAsThePerson) {
  Scene scene;
  auto done = scene.act(R"({"verb":"pause","target":"pool","name":"","reason":"a storm"})");
  ASSERT_TRUE(done) << done.error().text();
  Json policy = scene.fleet.must(kube::get(fleet::cluster_policies, {"", "cluster-policy"}));
  EXPECT_NE(
      text_at(policy, "metadata", "annotations", fleet::paused_annotation).find("by ada: a storm"),
      std::string_view::npos);
  EXPECT_EQ(scene.tokens, std::vector<std::string>{"t"});
}

TEST(FleetSource, RetriesOnlyWhatFailed) {
  Scene scene;
  auto done = scene.act(R"({"verb":"retry","target":"node","name":"gpu-1","reason":"x"})");
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::conflict);
  EXPECT_TRUE(scene.tokens.empty()) << "nobody was asked";
}

TEST(KeyDomain, OfAnotherControllerLetsTheDashboardWriteNothing) {
  Scene scene("the controller works with the key domain lockstep.dev");
  auto done = scene.act(R"({"verb":"skip","target":"node","name":"gpu-1","reason":"x"})");
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, "the controller works with the key domain lockstep.dev");
  EXPECT_TRUE(scene.tokens.empty()) << "nobody was asked";
}

TEST(FleetSource, ATokenThatCannotBeOneIsRefused) {
  Scene scene;
  auto done = scene.act(R"({"verb":"skip","target":"node","name":"gpu-1","reason":"x"})", "bad");
  EXPECT_FALSE(done);
  scene.source.access("good", scene.take);
  scene.fleet.loop.run_for(seconds(1));
  ASSERT_TRUE(*scene.found);
  EXPECT_EQ((*scene.found)->at("user").as_string(), "ada");
}

TEST(FleetSource, PassesThePlanOn) {
  Scene scene;
  scene.source.plan(true, scene.take);
  ASSERT_TRUE(*scene.found);
  EXPECT_TRUE((*scene.found)->at("assume").as_bool());
}

}  // namespace
}  // namespace lockstep::dashboard::fleet_source_test

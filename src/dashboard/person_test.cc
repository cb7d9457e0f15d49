#include "dashboard/person.h"

#include <set>

#include <gtest/gtest.h>

#include "world/virtual_loop.h"

namespace lockstep::dashboard::person_test {
namespace {

// Answers as a cluster in which Ada may do some things.
class AdasCluster final : public kube::Api {
 public:
  explicit AdasCluster(Loop& loop) : loop_(loop) {}
  void call(kube::Request request, kube::ReplyCallback done) override {
    if (request.verb != kube::Verb::get) asked.push_back(request);
    kube::Response response;
    response.code = 201;
    JsonObject status;
    if (!known) {
      response.code = 401;
      response.body = std::make_shared<const Json>(
          JsonObject{{"kind", "Status"}, {"message", "no"}, {"code", 401}});
    } else if (request.type.kind == "SelfSubjectReview") {
      status["userInfo"] = JsonObject{{"username", "ada\n"}};
    } else if (request.type.kind == "SelfSubjectAccessReview") {
      std::string resource(text_at(*request.body, "spec", "resourceAttributes", "resource"));
      status["allowed"] = allowed.contains(resource);
    } else if (!allowed.contains(request.type.plural)) {
      response.code = 403;
      response.body = std::make_shared<const Json>(
          JsonObject{{"kind", "Status"}, {"message", "not ada"}, {"code", 403}});
    }
    if (response.code == 201) {
      response.body = std::make_shared<const Json>(JsonObject{
          {"metadata", JsonObject{{"name", request.name}}}, {"status", std::move(status)}});
    }
    loop_.post([done = std::move(done), response] { done(response); });
  }
  std::unique_ptr<kube::Watch> watch(kube::WatchRequest, kube::WatchHandler) override {
    return nullptr;
  }

  std::set<std::string> allowed;
  bool known = true;
  std::vector<kube::Request> asked;

 private:
  Loop& loop_;
};

struct Scene {
  VirtualLoop loop{1};
  std::shared_ptr<AdasCluster> cluster = std::make_shared<AdasCluster>(loop);
  std::optional<Result<Json>> found;
  JsonCallback take = [this](Result<Json> result) { found = std::move(result); };
};

TEST(Person, IsToldWhatTheyMayDo) {
  Scene scene;
  scene.cluster->allowed = {"clusterpolicies", "nodes"};
  find_access(scene.cluster, scene.take);
  scene.loop.run_for(seconds(1));
  ASSERT_TRUE(scene.found && *scene.found);
  const Json& access = **scene.found;
  EXPECT_EQ(access.at("user").as_string(), "ada");
  EXPECT_TRUE(access.at("allowed").at("pool").as_bool()) << "one kind of policy is enough";
  EXPECT_TRUE(access.at("allowed").at("node").as_bool());
  EXPECT_FALSE(access.at("allowed").at("rollout").as_bool());
}

TEST(Person, WhoIsNotKnownIsToldSo) {
  Scene scene;
  scene.cluster->known = false;
  find_access(scene.cluster, scene.take);
  scene.loop.run_for(seconds(1));
  ASSERT_TRUE(scene.found && !*scene.found);
  EXPECT_EQ(scene.found->error().kind, ErrorKind::unauthorized);
}

TEST(Person, DoesItUnderTheirOwnName) {
  Scene scene;
  scene.cluster->allowed = {"nodes"};
  operate::Action action{"skip", operate::ActionTarget::node, "gpu-7", "", "cable"};
  perform(scene.cluster, action, Time::from_unix(1'800'000'000), fleet::Keys(), {}, scene.take);
  scene.loop.run_for(seconds(1));
  ASSERT_TRUE(scene.found && *scene.found) << scene.found->error().text();
  const kube::Request& last = scene.cluster->asked.back();
  EXPECT_EQ(last.verb, kube::Verb::patch);
  EXPECT_NE(text_at(*last.body, "metadata", "annotations", rollout::steered_annotation)
                .find("by ada: cable"),
            std::string_view::npos);
}

TEST(Person, WhatTheClusterRefusesIsNotDone) {
  Scene scene;
  operate::Action action{"pause", operate::ActionTarget::pool, "", "", "cable"};
  perform(scene.cluster, action, Time::from_unix(1'800'000'000), fleet::Keys(),
          {{fleet::cluster_policies, "a"}, {fleet::cluster_policies, "b"}}, scene.take);
  scene.loop.run_for(seconds(1));
  ASSERT_TRUE(scene.found && !*scene.found);
  EXPECT_EQ(scene.found->error().kind, ErrorKind::forbidden);
  EXPECT_EQ(scene.cluster->asked.size(), 2U) << "the second is not tried";
}

}  // namespace
}  // namespace lockstep::dashboard::person_test

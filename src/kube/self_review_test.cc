#include "kube/self_review.h"

#include <gtest/gtest.h>

#include "world/virtual_loop.h"

namespace lockstep::kube::self_review_test {
namespace {

// Answers one question, and keeps it.
class Answering final : public Api {
 public:
  explicit Answering(Loop& loop) : loop_(loop) {}
  void call(Request request, ReplyCallback done) override {
    asked = std::move(request);
    loop_.post([done = std::move(done), reply = reply] { done(reply); });
  }
  std::unique_ptr<Watch> watch(WatchRequest, WatchHandler) override { return nullptr; }

  Response reply;
  Request asked;

 private:
  Loop& loop_;
};

struct Scene {
  VirtualLoop loop{1};
  Answering api{loop};
  SyncApi sync{api, loop};
};

TEST(SelfReview, SaysTheNameAndTheGroupsThatTheClusterKnows) {
  Scene scene;
  scene.api.reply.code = 201;
  scene.api.reply.body = std::make_shared<const Json>(*parse_json(
      R"({"status":{"userInfo":{"username":"ada","groups":["sre","system:authenticated"]}}})"));
  auto user = find_identity(scene.sync);
  ASSERT_TRUE(user) << user.error().text();
  EXPECT_EQ(user->name, "ada");
  EXPECT_EQ(user->groups, (std::vector<std::string>{"sre", "system:authenticated"}));
  EXPECT_EQ(scene.api.asked.path(), "/apis/authentication.k8s.io/v1/selfsubjectreviews");
}

TEST(SelfReview, ARefusalIsNoName) {
  Scene scene;
  scene.api.reply.code = 403;
  scene.api.reply.body = std::make_shared<const Json>(
      JsonObject{{"kind", "Status"}, {"message", "no"}, {"code", 403}});
  auto user = find_identity(scene.sync);
  ASSERT_FALSE(user);
  EXPECT_EQ(user.error().kind, ErrorKind::forbidden);
}

}  // namespace
}  // namespace lockstep::kube::self_review_test

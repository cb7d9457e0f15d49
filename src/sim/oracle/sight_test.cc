#include "sim/oracle/sight.h"

#include <memory>

#include <gtest/gtest.h>

#include "objects/resource_type.h"
#include "world/virtual_loop.h"

namespace lockstep::sim::sight_test {
namespace {

class SightTest : public ::testing::Test {
 protected:
  void wait(Duration length) { loop.run_for(length); }
  void change(uint64_t version, const ResourceType& type = resource::pods) {
    auto object =
        std::make_shared<const apiserver::Stored>(ObjectKey{"default", "a"}, version, JsonObject{});
    sight.take(type.full_name(), {version, kube::WatchEventType::modified, object, nullptr});
  }
  static kube::Request page(const std::string& token = "") {
    kube::Request request = kube::list(resource::pods);
    request.with("limit", "500");
    if (!token.empty()) request.with("continue", token);
    return request;
  }
  void answer(const kube::Request& request, const std::string& version,
              const std::string& token = "") {
    kube::ListBody body;
    body.resource_version = version;
    body.continue_token = token;
    sight.see_reply(1, request, kube::Response{200, std::move(body), std::nullopt});
  }
  void refuse() { sight.see_reply(1, page(), kube::Response{500, {}, std::nullopt}); }
  // A controller that has seen all up to this version.
  void begin_at(const std::string& version) {
    sight.see_call(1, page());
    answer(page(), version);
  }
  void event(const std::string& version) {
    Json object = {{"metadata", JsonObject{{"resourceVersion", version}}}};
    sight.see_event(1, watch,
                    {kube::WatchEventType::modified, std::make_shared<const Json>(object)});
  }
  Duration now() const { return loop.uptime(); }
  Duration hidden() const { return sight.hidden_since(now()); }

  VirtualLoop loop{1};
  Sight sight{loop};
  kube::WatchRequest watch{resource::pods, "", "", {}, true, minutes(5), Duration::zero()};
};

constexpr Duration nothing = Duration::max();

TEST_F(SightTest, NothingIsHiddenThatWasShown) {
  begin_at("10");
  change(11);
  event("11");
  wait(hours(1));
  EXPECT_EQ(hidden(), nothing);
}

TEST_F(SightTest, SeveralTroublesInARowHideAChangeForAsLongAsTheyLast) {
  begin_at("10");
  wait(minutes(1));
  const Duration began = now();
  change(11);
  for (int i = 0; i < 8; ++i) {
    wait(minutes(5));
    refuse();
    EXPECT_EQ(hidden(), began);
  }
}

// A controller that does not ask is to blame.
TEST_F(SightTest, NothingIsHiddenByAnApiThatNobodyAsks) {
  begin_at("10");
  change(11);
  refuse();
  wait(minutes(9));
  EXPECT_NE(hidden(), nothing);
  wait(minutes(2));
  EXPECT_EQ(hidden(), nothing);
}

TEST_F(SightTest, AListCountsWhenItsLastPageHasCome) {
  wait(minutes(3));
  const Duration began = now();
  sight.see_call(1, page());
  change(11);
  wait(minutes(2));
  refuse();
  answer(page(), "11", "more");
  EXPECT_EQ(hidden(), began) << "one page of two";
  change(12);
  wait(minutes(2));
  answer(page("more"), "13");
  EXPECT_EQ(sight.hidden_since(now() - seconds(1)), began) << "until just now";
  // What came after the first page is told by the watch.
  EXPECT_EQ(hidden(), began);
  event("12");
  wait(seconds(1));
  EXPECT_EQ(hidden(), nothing);
}

TEST_F(SightTest, AnOldListShowsNothingNew) {
  begin_at("10");
  const Duration began = now();
  change(11);
  wait(minutes(20));
  answer(page(), "10");
  EXPECT_EQ(hidden(), began);
}

TEST_F(SightTest, AWatchThatBreaksIsATrouble) {
  begin_at("10");
  const Duration began = now();
  change(11);
  wait(minutes(20));
  EXPECT_EQ(hidden(), nothing);
  sight.see_end(1, watch, {ErrorKind::unreachable, "reset", ""});
  EXPECT_EQ(hidden(), began);
}

TEST_F(SightTest, AKindThatTheClusterDoesNotKnowHidesNothing) {
  sight.see_call(1, page());
  refuse();
  wait(minutes(5));
  sight.see_reply(1, page(), kube::Response{404, {}, std::nullopt});
  wait(seconds(1));
  EXPECT_EQ(hidden(), nothing);
}

TEST_F(SightTest, QuestionsOfAMomentAreNoView) {
  kube::Request request = kube::list(resource::pods);
  request.with("fieldSelector", "spec.nodeName=gpu-1");
  sight.see_call(1, request);
  sight.see_reply(1, request, kube::Response{500, {}, std::nullopt});
  change(11);
  wait(minutes(5));
  EXPECT_EQ(hidden(), nothing);
}

TEST_F(SightTest, OtherControllersBeginWithNothing) {
  begin_at("10");
  change(11);
  refuse();
  EXPECT_NE(hidden(), nothing);
  sight.begin();
  EXPECT_EQ(hidden(), nothing);
  sight.see_call(2, page());
  sight.see_reply(2, page(), kube::Response{500, {}, std::nullopt});
  wait(minutes(2));
  EXPECT_EQ(hidden(), now() - minutes(2));
}

}  // namespace
}  // namespace lockstep::sim::sight_test

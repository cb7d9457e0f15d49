#include "sim/scenario/stale_api.h"

#include <string>

#include <gtest/gtest.h>

#include "kube/fake_api_test_util.h"
#include "world/virtual_loop.h"

namespace lockstep::sim::stale_api_test {
namespace {

using kube::FakeApi;

struct Watcher {
  explicit Watcher(std::vector<Freeze> freezes)
      : api(inner, loop, std::move(freezes), [this](const Freeze&) { ++freezes_told; }) {
    put("z");
    list();
    api.count_afresh();
    watch = open();
  }
  void put(const std::string& name) {
    inner.put(resource::nodes, {"", name}, kube::fake_object(resource::nodes, {"", name}));
    loop.run_for(seconds(1));
  }
  std::string list() {
    std::string names;
    api.call(kube::list(resource::nodes), [&](const kube::Reply& reply) {
      const auto& body = std::get<kube::ListBody>(reply->body);
      for (const auto& item : body.items) names += text_at(*item, "metadata", "name");
      version = body.resource_version;
    });
    loop.run_for(seconds(1));
    return names;
  }
  std::unique_ptr<kube::Watch> open() {
    kube::WatchRequest request = kube::watch_request(resource::nodes);
    request.resource_version = version;
    return api.watch(request, {[this](const kube::WatchEvent& event) {
                                 if (event.type == kube::WatchEventType::bookmark) return;
                                 seen +=
                                     text_at(*std::get<Document>(event.object), "metadata", "name");
                               },
                               [this](const Error&) { seen += "."; }});
  }

  VirtualLoop loop{1};
  FakeApi inner{loop};
  int freezes_told = 0;
  std::string seen;
  std::string version;
  StaleApi api;
  std::unique_ptr<kube::Watch> watch;
};

TEST(StaleApi, HoldsBackFromTheGivenEventOnAndThenGivesAllInOrder) {
  Watcher watcher({{"nodes", 2, minutes(2)}});
  for (const char* name : {"a", "b", "c"}) watcher.put(name);
  EXPECT_EQ(watcher.seen, "a");
  EXPECT_EQ(watcher.freezes_told, 1);
  EXPECT_TRUE(watcher.api.frozen("nodes"));
  watcher.loop.run_for(minutes(2));
  watcher.put("d");
  EXPECT_EQ(watcher.seen, "abcd");
  EXPECT_FALSE(watcher.api.frozen("nodes"));
}

TEST(StaleApi, AListWhileFrozenShowsWhatWasSeenBefore) {
  Watcher watcher({{"nodes", 2, minutes(2)}});
  for (const char* name : {"a", "b"}) watcher.put(name);
  EXPECT_EQ(watcher.list(), "az");
  std::string old = watcher.version;
  watcher.loop.run_for(minutes(2));
  EXPECT_EQ(watcher.list(), "abz");
  EXPECT_NE(watcher.version, old);
}

TEST(StaleApi, AWatchThatBeginsWhileFrozenHearsLater) {
  Watcher watcher({{"nodes", 1, minutes(2)}});
  watcher.put("a");
  watcher.watch.reset();
  watcher.list();
  watcher.watch = watcher.open();
  watcher.put("b");
  EXPECT_EQ(watcher.seen, "");
  watcher.loop.run_for(minutes(2));
  EXPECT_EQ(watcher.seen, "ab");
}

TEST(StaleApi, TheEndOfAWatchWaitsToo) {
  Watcher watcher({{"nodes", 1, minutes(2)}});
  watcher.put("a");
  watcher.inner.drop_watches();
  watcher.loop.run_for(seconds(1));
  EXPECT_EQ(watcher.seen, "");
  watcher.loop.run_for(minutes(2));
  EXPECT_EQ(watcher.seen, "a.");
}

TEST(StaleApi, OtherKindsOfObjectsGoOn) {
  Watcher watcher({{"pods", 1, minutes(2)}});
  watcher.put("a");
  EXPECT_EQ(watcher.seen, "a");
  EXPECT_EQ(watcher.freezes_told, 0);
  EXPECT_EQ(watcher.api.events(), (std::map<std::string, uint64_t>{{"nodes", 1}}));
}

TEST(StaleApi, WhoAsksForSomeOfThemIsToldTheTruthAndTheOldViewStays) {
  Watcher watcher({{"nodes", 2, minutes(2)}});
  for (const char* name : {"a", "b"}) watcher.put(name);
  std::string names;
  watcher.api.call(kube::list(resource::nodes).with("labelSelector", "!none"),
                   [&](const kube::Reply& reply) {
                     for (const auto& item : std::get<kube::ListBody>(reply->body).items) {
                       names += text_at(*item, "metadata", "name");
                     }
                   });
  watcher.loop.run_for(seconds(1));
  EXPECT_EQ(names, "abz");
  EXPECT_EQ(watcher.list(), "az");
}

}  // namespace
}  // namespace lockstep::sim::stale_api_test

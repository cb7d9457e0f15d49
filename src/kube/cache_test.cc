#include "kube/cache.h"

#include <map>
#include <set>

#include <gtest/gtest.h>

#include "objects/pod.h"

namespace lockstep::kube::cache_test {
namespace {

using PodPtr = std::shared_ptr<const Pod>;

PodPtr pod(std::string_view name, std::string_view version, std::string_view node = "n1",
           std::string_view uid = "u1") {
  Pod made;
  made.meta.ns = "default";
  made.meta.name = Text(name);
  made.meta.uid = Text(uid);
  made.meta.resource_version = Text(version);
  made.node_name = Text(node);
  return std::make_shared<const Pod>(std::move(made));
}

std::vector<Cache<Pod>::Index> indexes() {
  return {{"node",
           [](const Pod& each, std::vector<Text>& values) { values.push_back(each.node_name); }},
          {"label", [](const Pod& each, std::vector<Text>& values) {
             for (const auto& [key, value] : each.meta.labels) {
               values.push_back(value);
               values.push_back(value);  // twice on purpose: it must be found once
             }
           }}};
}

ObjectKey key(std::string_view name) { return {"default", std::string(name)}; }

// "+a@1" added, "-a@1" deleted, "a@1>2" modified.
class Recorder {
 public:
  explicit Recorder(Cache<Pod>& cache) {
    cache.on_change([this](const Cache<Pod>::Change& change) {
      std::string name = change.object().meta.name.str();
      if (!change.before) {
        lines.push_back("+" + name + "@" + change.after->meta.resource_version.str());
      } else if (!change.after) {
        lines.push_back("-" + name + "@" + change.before->meta.resource_version.str());
      } else {
        lines.push_back(name + "@" + change.before->meta.resource_version.str() + ">" +
                        change.after->meta.resource_version.str());
      }
    });
    cache.on_settled(
        [this](const ObjectKey& settled) { lines.push_back("settled " + settled.name); });
  }
  std::vector<std::string> take() { return std::exchange(lines, {}); }
  std::vector<std::string> lines;
};

using Lines = std::vector<std::string>;

std::vector<std::string> names(const Cache<Pod>& cache, std::string_view index,
                               std::string_view value) {
  std::vector<std::string> found;
  for (const PodPtr& each : cache.find_all(index, value)) found.push_back(each->meta.name.str());
  return found;
}

TEST(Cache, EventsComeInAndAreReported) {
  Cache<Pod> cache(indexes());
  Recorder recorder(cache);
  EXPECT_FALSE(cache.synced());
  EXPECT_TRUE(cache.replace({pod("b", "2"), pod("a", "1")}, "5"));
  EXPECT_TRUE(cache.synced());
  EXPECT_EQ(recorder.take(), (Lines{"+a@1", "+b@2"}));
  EXPECT_TRUE(cache.apply(WatchEventType::added, pod("c", "6")));
  EXPECT_TRUE(cache.apply(WatchEventType::modified, pod("a", "7")));
  EXPECT_TRUE(cache.apply(WatchEventType::deleted, pod("b", "8")));
  EXPECT_EQ(recorder.take(), (Lines{"+c@6", "a@1>7", "-b@2"}));
  EXPECT_EQ(cache.version(), "8");
  EXPECT_EQ(cache.size(), 2U);
  EXPECT_EQ(cache.find(key("b")), nullptr);
  EXPECT_EQ(cache.find(KeyView("default", "a"))->meta.resource_version, "7");
  Lines order;
  cache.for_each([&](const PodPtr& each) { order.push_back(each->meta.name.str()); });
  EXPECT_EQ(order, (Lines{"a", "c"}));
}

TEST(Cache, OldEventsChangeNothing) {
  Cache<Pod> cache;
  Recorder recorder(cache);
  cache.replace({pod("a", "10")}, "20");
  recorder.take();
  EXPECT_FALSE(cache.apply(WatchEventType::modified, pod("a", "9")));
  EXPECT_FALSE(cache.apply(WatchEventType::modified, pod("a", "10")));
  EXPECT_FALSE(cache.apply(WatchEventType::deleted, pod("a", "9")));
  // Not held, so it was deleted before version 20.
  EXPECT_FALSE(cache.apply(WatchEventType::added, pod("gone", "15")));
  EXPECT_FALSE(cache.apply(WatchEventType::deleted, pod("gone", "16")));
  EXPECT_FALSE(cache.apply(WatchEventType::bookmark, pod("a", "30")));
  EXPECT_EQ(recorder.take(), Lines{});
  EXPECT_EQ(cache.version(), "20");
}

TEST(Cache, OpaqueVersionsFollowTheStream) {
  Cache<Pod> cache;
  cache.replace({pod("a", "x9")}, "list-1");
  EXPECT_FALSE(cache.apply(WatchEventType::modified, pod("a", "x9")));
  EXPECT_TRUE(cache.apply(WatchEventType::modified, pod("a", "x1")));
  EXPECT_TRUE(cache.apply(WatchEventType::deleted, pod("a", "x0")));
  EXPECT_EQ(cache.size(), 0U);
  EXPECT_TRUE(cache.replace({pod("a", "x1")}, "list-0"));
}

TEST(Cache, AListReportsOnlyWhatDiffers) {
  Cache<Pod> cache(indexes());
  Recorder recorder(cache);
  cache.replace({pod("a", "1"), pod("b", "2"), pod("c", "3")}, "3");
  recorder.take();
  PodPtr same = cache.find(key("a"));
  EXPECT_TRUE(cache.replace({pod("d", "5"), pod("c", "4"), pod("a", "1")}, "6"));
  EXPECT_EQ(recorder.take(), (Lines{"-b@2", "c@3>4", "+d@5"}));
  EXPECT_EQ(cache.find(key("a")), same);
  EXPECT_TRUE(cache.replace({}, "7"));
  EXPECT_EQ(recorder.take(), (Lines{"-a@1", "-c@4", "-d@5"}));
}

TEST(Cache, ALaggingListIsRefused) {
  Cache<Pod> cache;
  cache.replace({pod("a", "10")}, "10");
  cache.apply(WatchEventType::added, pod("b", "12"));
  EXPECT_FALSE(cache.replace({pod("a", "9")}, "11"));
  EXPECT_EQ(cache.size(), 2U);
  EXPECT_TRUE(cache.replace({pod("a", "10"), pod("b", "12")}, "12"));
  // A restored backup: versions begin again.
  cache.reset();
  EXPECT_TRUE(cache.replace({pod("a", "3")}, "4"));
  EXPECT_EQ(cache.find(key("a"))->meta.resource_version, "3");
  EXPECT_EQ(cache.version(), "4");
}

TEST(Cache, TheSameNameWithAnotherUidIsTwoChanges) {
  Cache<Pod> cache(indexes());
  Recorder recorder(cache);
  cache.replace({pod("a", "1", "n1", "u1")}, "1");
  recorder.take();
  cache.apply(WatchEventType::modified, pod("a", "2", "n2", "u2"));
  EXPECT_EQ(recorder.take(), (Lines{"-a@1", "+a@2"}));
  EXPECT_EQ(names(cache, "node", "n1"), Lines{});
  EXPECT_EQ(names(cache, "node", "n2"), Lines{"a"});
}

TEST(Cache, IndexesFollow) {
  Cache<Pod> cache(indexes());
  cache.replace({pod("b", "1"), pod("a", "2"), pod("c", "3", "n2")}, "3");
  EXPECT_EQ(names(cache, "node", "n1"), (Lines{"a", "b"}));
  EXPECT_EQ(cache.count("node", "n1"), 2U);
  EXPECT_EQ(cache.count("node", "n9"), 0U);
  EXPECT_EQ(names(cache, "no-such-index", "n1"), Lines{});
  cache.apply(WatchEventType::modified, pod("a", "4", "n2"));
  EXPECT_EQ(names(cache, "node", "n1"), Lines{"b"});
  EXPECT_EQ(names(cache, "node", "n2"), (Lines{"a", "c"}));
  cache.apply(WatchEventType::deleted, pod("b", "5"));
  Lines values;
  cache.for_each_value("node", [&](const Text& value) { values.push_back(value.str()); });
  EXPECT_EQ(values, Lines{"n2"});
}

TEST(Cache, AnObjectMayStandUnderSeveralValues) {
  Cache<Pod> cache(indexes());
  Pod labelled = *pod("a", "1");
  labelled.meta.labels = {{"x", "1"}, {"y", "2"}, {"z", "2"}};
  cache.apply(WatchEventType::added, std::make_shared<const Pod>(labelled));
  EXPECT_EQ(names(cache, "label", "1"), Lines{"a"});
  EXPECT_EQ(names(cache, "label", "2"), Lines{"a"});
  cache.apply(WatchEventType::modified, pod("a", "2"));
  EXPECT_EQ(names(cache, "label", "2"), Lines{});
}

TEST(Cache, ListenersSeeTheWholeList) {
  Cache<Pod> cache(indexes());
  std::vector<size_t> sizes;
  cache.on_change([&](const Cache<Pod>::Change&) { sizes.push_back(cache.count("node", "n1")); });
  cache.replace({pod("a", "1"), pod("b", "2")}, "2");
  EXPECT_EQ(sizes, (std::vector<size_t>{2, 2}));
}

TEST(Cache, OurOwnWriteIsAwaited) {
  Cache<Pod> cache;
  Recorder recorder(cache);
  cache.replace({pod("a", "1"), pod("b", "2")}, "5");
  recorder.take();
  EXPECT_TRUE(cache.is_current(key("a")));
  cache.expect(key("a"), "7");
  EXPECT_FALSE(cache.is_current(key("a")));
  EXPECT_TRUE(cache.is_current(key("b")));
  cache.apply(WatchEventType::modified, pod("a", "6"));
  EXPECT_FALSE(cache.is_current(key("a")));
  recorder.take();
  cache.apply(WatchEventType::modified, pod("a", "7"));
  EXPECT_TRUE(cache.is_current(key("a")));
  EXPECT_EQ(recorder.take(), (Lines{"a@6>7", "settled a"}));
}

TEST(Cache, AWriteThatIsShownAlreadyIsNotAwaited) {
  Cache<Pod> cache;
  cache.replace({pod("a", "7")}, "7");
  cache.expect(key("a"), "7");
  EXPECT_TRUE(cache.is_current(key("a")));
  // The event, and the deletion after it, came before the answer to our write.
  cache.apply(WatchEventType::deleted, pod("a", "9"));
  cache.expect(key("a"), "8");
  EXPECT_TRUE(cache.is_current(key("a")));
}

TEST(Cache, AwaitedWritesAreSettledByBookmarksAndByOthersEvents) {
  Cache<Pod> cache;
  Recorder recorder(cache);
  cache.replace({pod("a", "1")}, "1");
  recorder.take();
  cache.expect(key("a"), "5");
  cache.advance("4");
  EXPECT_FALSE(cache.is_current(key("a")));
  cache.advance("5");
  EXPECT_TRUE(cache.is_current(key("a")));
  cache.expect(key("a"), "7");
  cache.apply(WatchEventType::added, pod("b", "8"));
  EXPECT_TRUE(cache.is_current(key("a")));
  EXPECT_EQ(recorder.take(), (Lines{"settled a", "+b@8", "settled a"}));
}

TEST(Cache, OurDeletionIsAwaited) {
  Cache<Pod> cache;
  cache.replace({pod("a", "1"), pod("b", "2"), pod("c", "3")}, "3");
  for (std::string_view name : {"a", "b", "c"}) cache.expect_deleted(key(name), "u1");
  EXPECT_FALSE(cache.is_current(key("a")));
  cache.apply(WatchEventType::deleted, pod("a", "4"));
  EXPECT_TRUE(cache.is_current(key("a")));
  Pod leaving = *pod("b", "5");
  leaving.meta.deleted = Time::from_unix(100);
  cache.apply(WatchEventType::modified, std::make_shared<const Pod>(leaving));
  EXPECT_TRUE(cache.is_current(key("b")));
  cache.apply(WatchEventType::modified, pod("c", "6"));
  EXPECT_FALSE(cache.is_current(key("c")));
  cache.replace({pod("b", "5")}, "7");
  EXPECT_TRUE(cache.is_current(key("c")));
  // Gone, on its way, or another object of that name: nothing to await.
  cache.expect_deleted(key("a"), "u1");
  cache.expect_deleted(key("b"), "u1");
  EXPECT_TRUE(cache.is_current(key("a")));
  EXPECT_TRUE(cache.is_current(key("b")));
}

TEST(Cache, ARelistSettlesWhatItShows) {
  Cache<Pod> cache;
  cache.replace({pod("a", "1")}, "1");
  cache.expect(key("a"), "5");
  cache.expect(key("z"), "9");
  // The first list was read before our write to z.
  cache.replace({pod("a", "5")}, "8");
  EXPECT_TRUE(cache.is_current(key("a")));
  EXPECT_FALSE(cache.is_current(key("z")));
  cache.replace({pod("a", "5")}, "9");
  EXPECT_TRUE(cache.is_current(key("z")));
  cache.expect(key("a"), "20");
  cache.reset();
  EXPECT_TRUE(cache.is_current(key("a")));
}

TEST(Cache, WhatCannotBeReadIsKeptAsItWas) {
  Cache<Pod> cache;
  Recorder recorder(cache);
  cache.replace({pod("a", "1"), pod("b", "2")}, "2");
  recorder.take();
  Error error{ErrorKind::invalid, "bad", ""};
  EXPECT_TRUE(cache.replace({pod("b", "2")}, "5", {{key("a"), error}, {key("new"), error}}));
  EXPECT_EQ(recorder.take(), Lines{});
  EXPECT_NE(cache.find(key("a")), nullptr);
  EXPECT_EQ(cache.unreadable().size(), 2U);
  cache.expect(key("b"), "6");
  cache.apply_unreadable(key("b"), error, "6");
  EXPECT_TRUE(cache.is_current(key("b")));
  EXPECT_EQ(cache.unreadable().size(), 3U);
  EXPECT_EQ(cache.find(key("b"))->meta.resource_version, "2");
  cache.apply(WatchEventType::modified, pod("b", "7"));
  cache.remove(key("a"), "8");
  cache.remove(key("new"), "9");
  EXPECT_TRUE(cache.unreadable().empty());
  EXPECT_EQ(recorder.take(), (Lines{"settled b", "b@2>7", "-a@1"}));
}

}  // namespace
}  // namespace lockstep::kube::cache_test

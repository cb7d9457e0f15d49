#include "apiserver/verbs/watching.h"

#include "apiserver/verbs/cluster_test_util.h"

namespace lockstep::apiserver::watching_test {
namespace {

kube::Request watch_configs() { return kube::list(resource::config_maps, "default"); }

WatchFeed open(TestCluster& cluster, const kube::Request& request) {
  auto feed = WatchFeed::open(cluster.backend, *cluster.backend.table.find(request.type), request);
  EXPECT_TRUE(feed) << (feed ? "" : feed.error().message);
  return std::move(*feed);
}

std::string text(const std::vector<FeedEvent>& events) {
  std::string all;
  for (const auto& event : events) {
    all += std::string(to_string(event.type));
    if (event.object) all += ":" + event.object->key().name;
    all += " ";
  }
  return all;
}

void add(TestCluster& cluster, std::string_view name, std::string_view labels = "{}") {
  cluster.create(resource::config_maps, "default",
                 fmt::format(R"({{"metadata":{{"name":"{}","labels":{}}}}})", name, labels));
}

void label(TestCluster& cluster, const std::string& name, std::string_view value) {
  cluster.ok(
      kube::patch(resource::config_maps, {"default", name}, kube::PatchType::merge,
                  from_text(fmt::format(R"({{"metadata":{{"labels":{{"app":"{}"}}}}}})", value))));
}

TEST(Watching, WithoutAVersionWhatIsThereComesFirst) {
  TestCluster cluster;
  add(cluster, "a");
  add(cluster, "b");
  auto feed = open(cluster, watch_configs());
  add(cluster, "c");
  EXPECT_EQ(text(feed.next()), "ADDED:a ADDED:b ADDED:c ");
  EXPECT_FALSE(feed.ready());
}

TEST(Watching, FromAVersionOnlyWhatIsNewer) {
  TestCluster cluster;
  add(cluster, "a");
  auto feed = open(cluster, watch_configs().with("resourceVersion",
                                                 std::to_string(cluster.backend.store.version())));
  label(cluster, "a", "x");
  cluster.ok(kube::remove(resource::config_maps, {"default", "a"}));
  EXPECT_EQ(text(feed.next()), "MODIFIED:a DELETED:a ");
}

TEST(Watching, ASelectorTurnsChangesIntoComingAndGoing) {
  TestCluster cluster;
  add(cluster, "a");
  auto feed =
      open(cluster, watch_configs()
                        .with("labelSelector", "app=x")
                        .with("resourceVersion", std::to_string(cluster.backend.store.version())));
  label(cluster, "a", "x");
  label(cluster, "a", "y");
  add(cluster, "other");
  auto events = feed.next();
  EXPECT_EQ(text(events), "ADDED:a DELETED:a ");
  EXPECT_EQ(text_at(events[1].object->json(), "metadata", "labels", "app"), "x")
      << "the state that was seen";
  EXPECT_GT(events[1].object->version(), events[0].object->version());
}

TEST(Watching, InitialEventsEndWithAMarkedBookmark) {
  TestCluster cluster;
  add(cluster, "a");
  auto feed = open(cluster, watch_configs()
                                .with("sendInitialEvents", "true")
                                .with("resourceVersionMatch", "NotOlderThan")
                                .with("allowWatchBookmarks", "true"));
  auto events = feed.next();
  EXPECT_EQ(text(events), "ADDED:a BOOKMARK ");
  EXPECT_EQ(text_at(events[1].note, "metadata", "annotations", "k8s.io/initial-events-end"),
            "true");
}

TEST(Watching, AVersionThatWasCompactedIsGone) {
  TestCluster cluster;
  add(cluster, "a");
  std::string version = std::to_string(cluster.backend.store.version());
  label(cluster, "a", "x");
  cluster.backend.store.compact();
  auto feed = open(cluster, watch_configs().with("resourceVersion", version));
  auto events = feed.next();
  ASSERT_EQ(text(events), "ERROR ");
  EXPECT_EQ(as_integer(find(events[0].note, "code")), 410);
  EXPECT_TRUE(feed.ended());
}

TEST(Watching, AWatcherThatFellBehindTheLogIsToldSo) {
  Options options;
  options.log_limit = 2;
  TestCluster cluster(options);
  add(cluster, "a");
  auto feed = open(cluster, watch_configs().with("resourceVersion",
                                                 std::to_string(cluster.backend.store.version())));
  for (auto value : {"1", "2", "3"}) label(cluster, "a", value);
  EXPECT_EQ(text(feed.next()), "ERROR ");
}

TEST(Watching, ABookmarkTellsTheNewestVersion) {
  TestCluster cluster;
  auto feed = open(cluster, watch_configs().with("allowWatchBookmarks", "true"));
  add(cluster, "a");
  (void)feed.next();
  EXPECT_EQ(text_at(feed.bookmark().note, "metadata", "resourceVersion"),
            std::to_string(cluster.backend.store.version()));
}

TEST(Watching, EventsComeInPortions) {
  TestCluster cluster;
  for (auto name : {"a", "b", "c"}) add(cluster, name);
  auto feed = open(cluster, watch_configs());
  EXPECT_EQ(feed.next(2).size(), 2U);
  EXPECT_TRUE(feed.ready());
  EXPECT_EQ(feed.next(2).size(), 1U);
}

}  // namespace
}  // namespace lockstep::apiserver::watching_test

#include "apiserver/store/store.h"

#include <gtest/gtest.h>

namespace lockstep::apiserver::store_test {
namespace {

Json object(std::string_view name, std::string_view uid = "u", std::string_view owner = "") {
  JsonObject metadata{{"name", name}, {"uid", uid}};
  if (!owner.empty()) metadata["ownerReferences"] = JsonArray{JsonObject{{"uid", owner}}};
  return JsonObject{{"metadata", metadata}};
}

TEST(Store, EveryChangeGetsItsOwnVersionAndTheObjectCarriesIt) {
  Store store;
  auto first = store.put("pods", {"a", "x"}, object("x"));
  auto second = store.put("pods", {"a", "x"}, object("x"));
  EXPECT_LT(first->version(), second->version());
  EXPECT_EQ(text_at(second->json(), "metadata", "resourceVersion"),
            std::to_string(second->version()));
  auto removed = store.remove("pods", {"a", "x"});
  EXPECT_GT(removed->version(), second->version());
  EXPECT_EQ(store.shelf("pods").find({"a", "x"}), nullptr);
  EXPECT_EQ(store.remove("pods", {"a", "x"}), nullptr);
}

TEST(Store, ARangeIsOneNamespaceAndNotItsNeighbours) {
  Store store;
  for (auto ns : {"a", "ab", "a-b", "b"}) store.put("pods", {ns, "x"}, object("x"));
  auto [at, end] = store.shelf("pods").range("a");
  ASSERT_NE(at, end);
  EXPECT_EQ(at->first.ns, "a");
  EXPECT_EQ(++at, end);
  auto all = store.shelf("pods").range("");
  EXPECT_EQ(std::distance(all.first, all.second), 4);
}

TEST(Store, TheLogTellsWhatHappenedAfterAVersion) {
  Store store;
  auto before = store.put("pods", {"a", "x"}, object("x"))->version();
  store.put("nodes", {"", "n"}, object("n"));
  store.put("pods", {"a", "x"}, object("x"));
  store.remove("pods", {"a", "x"});
  const Shelf& shelf = store.shelf("pods");
  auto position = shelf.position_after(before);
  ASSERT_TRUE(position);
  ASSERT_EQ(shelf.end_position() - *position, 2U);
  EXPECT_EQ(shelf.at(*position).type, kube::WatchEventType::modified);
  EXPECT_EQ(shelf.at(*position + 1).type, kube::WatchEventType::deleted);
  EXPECT_TRUE(shelf.at(*position + 1).before);
}

TEST(Store, AnEarlierStateIsRebuiltFromTheLog) {
  Store store;
  store.put("pods", {"a", "kept"}, object("kept"));
  auto old = store.put("pods", {"a", "gone"}, object("gone"));
  store.remove("pods", {"a", "gone"});
  store.put("pods", {"a", "new"}, object("new"));
  auto then = store.shelf("pods").changed_since(old->version());
  ASSERT_TRUE(then);
  EXPECT_EQ(then->size(), 2U);
  EXPECT_EQ(then->at({"a", "gone"}), old);
  EXPECT_EQ(then->at({"a", "new"}), nullptr);
}

TEST(Store, ACompactedLogNoLongerReachesBack) {
  Store store;
  auto first = store.put("pods", {"a", "x"}, object("x"))->version();
  store.put("pods", {"a", "x"}, object("x"));
  store.compact();
  EXPECT_FALSE(store.shelf("pods").position_after(first));
  EXPECT_FALSE(store.shelf("pods").changed_since(first));
  EXPECT_TRUE(store.shelf("pods").position_after(store.version()));
}

TEST(Store, TheLogIsBounded) {
  Store store(3);
  auto first = store.put("pods", {"a", "x"}, object("x"))->version();
  for (int i = 0; i < 5; ++i) store.put("pods", {"a", "x"}, object("x"));
  const Shelf& shelf = store.shelf("pods");
  EXPECT_EQ(shelf.end_position() - shelf.first_position(), 3U);
  EXPECT_FALSE(shelf.position_after(first));
}

TEST(Store, ForgetsChangesUpToAVersionButKeepsSome) {
  Store store;
  std::vector<uint64_t> versions;
  for (int i = 0; i < 6; ++i)
    versions.push_back(store.put("pods", {"a", "x"}, object("x"))->version());
  store.forget_changes(versions[1], 3);
  EXPECT_FALSE(store.shelf("pods").position_after(versions[0]));
  EXPECT_EQ(store.shelf("pods").position_after(versions[1]), 2U);
  store.forget_changes(versions[5], 3);
  EXPECT_EQ(store.shelf("pods").position_after(versions[2]), 3U);
  EXPECT_EQ(store.shelf("pods").end_position(), 6U);
}

TEST(Store, FindsByUidAndByOwner) {
  Store store;
  store.put("sets", {"a", "owner"}, object("owner", "u1"));
  store.put("pods", {"a", "child"}, object("child", "u2", "u1"));
  EXPECT_EQ(store.find_uid("u2")->key.name, "child");
  ASSERT_EQ(store.dependents("u1").size(), 1U);
  store.put("pods", {"a", "child"}, object("child", "u2"));
  EXPECT_TRUE(store.dependents("u1").empty());
  store.remove("pods", {"a", "child"});
  EXPECT_FALSE(store.find_uid("u2"));
}

TEST(Store, AListenerMayLeaveAndWriteWhileItIsCalled) {
  Store store;
  int calls = 0;
  uint64_t id = 0;
  id = store.add_listener([&](const std::string&, const Change& change) {
    ++calls;
    store.remove_listener(id);
    if (change.object->key().name == "x") store.put("pods", {"a", "y"}, object("y"));
  });
  store.put("pods", {"a", "x"}, object("x"));
  store.put("pods", {"a", "z"}, object("z"));
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(store.shelf("pods").objects().size(), 3U);
}

TEST(Store, KnowsWhatIsOnANode) {
  auto on = [](std::string_view name, std::string_view node) {
    Json made = object(name);
    if (!node.empty()) made.as_object()["spec"] = JsonObject{{"nodeName", node}};
    return made;
  };
  Store store;
  auto names = [&](std::string_view node) {
    std::string all;
    for (const auto& stored : store.shelf("pods").on_node(node)) all += stored->key().name + " ";
    return all;
  };
  store.put("pods", {"b", "z"}, on("z", "gpu-1"));
  store.put("pods", {"b", "y"}, on("y", ""));
  store.put("pods", {"a", "x"}, on("x", "gpu-2"));
  EXPECT_EQ(names("gpu-1"), "z ");
  EXPECT_EQ(names(""), "");
  // Bound, and again without moving.
  store.put("pods", {"b", "y"}, on("y", "gpu-1"));
  store.put("pods", {"b", "y"}, on("y", "gpu-1"));
  EXPECT_EQ(names("gpu-1"), "y z ");
  store.remove("pods", {"b", "z"});
  store.put("pods", {"b", "y"}, on("y", "gpu-2"));
  EXPECT_EQ(names("gpu-1"), "");
  EXPECT_EQ(names("gpu-2"), "x y ");
}

}  // namespace
}  // namespace lockstep::apiserver::store_test

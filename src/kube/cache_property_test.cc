// Whatever the order of events, repetitions, lost events, lists and lagging lists: in the end the
// cache shows the truth, its indexes and reports agree with it, and it never calls a stale view
// current.
#include <map>
#include <set>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "kube/cache.h"
#include "objects/pod.h"

namespace lockstep::kube::cache_property_test {
namespace {

using PodPtr = std::shared_ptr<const Pod>;
using Shown = std::map<std::string, std::pair<std::string, std::string>>;  // name: version, node

// The cluster: every change that ever was, in order. It begins at version 1; change i makes version
// i + 2.
class Truth {
 public:
  struct Change {
    std::string name;
    WatchEventType type;
    PodPtr object;
  };

  void change(int which, int node, bool remove) {
    std::string name = "p" + std::to_string(which);
    bool exists = live_.contains(name);
    if (remove && !exists) return;
    Pod pod;
    pod.meta.ns = "default";
    pod.meta.name = Text(name);
    if (!exists) uids_[name] = "uid-" + std::to_string(log.size());
    pod.meta.uid = Text(uids_[name]);
    pod.meta.resource_version = Text(std::to_string(log.size() + 2));
    pod.node_name = Text("n" + std::to_string(node));
    WatchEventType type = remove   ? WatchEventType::deleted
                          : exists ? WatchEventType::modified
                                   : WatchEventType::added;
    if (remove) {
      live_.erase(name);
    } else {
      live_.insert(name);
    }
    log.push_back({name, type, std::make_shared<const Pod>(std::move(pod))});
  }

  // What a list shows that was read after the first `count` changes.
  std::vector<PodPtr> at(size_t count) const {
    std::map<std::string, PodPtr> objects;
    for (size_t i = 0; i < count; ++i) {
      if (log[i].type == WatchEventType::deleted) {
        objects.erase(log[i].name);
      } else {
        objects[log[i].name] = log[i].object;
      }
    }
    std::vector<PodPtr> list;
    for (const auto& [name, object] : objects) list.push_back(object);
    return list;
  }

  std::vector<Change> log;

 private:
  std::set<std::string> live_;
  std::map<std::string, std::string> uids_;
};

Shown shown(const std::vector<PodPtr>& pods) {
  Shown result;
  for (const PodPtr& pod : pods) {
    result[pod->meta.name.str()] = {pod->meta.resource_version.str(), pod->node_name.str()};
  }
  return result;
}

Shown shown(const Cache<Pod>& cache) {
  std::vector<PodPtr> pods;
  cache.for_each([&](const PodPtr& pod) { pods.push_back(pod); });
  return shown(pods);
}

// Everything that the cache says about itself, checked against its objects.
void check_indexes(const Cache<Pod>& cache) {
  std::map<std::string, Shown> by_node;
  cache.for_each([&](const PodPtr& pod) {
    by_node[pod->node_name.str()][pod->meta.name.str()] = {pod->meta.resource_version.str(),
                                                           pod->node_name.str()};
  });
  std::map<std::string, Shown> indexed;
  cache.for_each_value(
      "node", [&](const Text& node) { indexed[node.str()] = shown(cache.find_all("node", node)); });
  RC_ASSERT(indexed == by_node);
}

std::string version_text(size_t changes) { return std::to_string(changes + 1); }

RC_GTEST_PROP(Cache, EndsEqualToTheTruth, ()) {
  Truth truth;
  Cache<Pod> cache({{"node", [](const Pod& pod, std::vector<Text>& values) {
                       values.push_back(pod.node_name);
                     }}});
  // What a consumer that only listens believes.
  std::map<std::string, PodPtr> heard;
  cache.on_change([&](const Cache<Pod>::Change& change) {
    std::string name = change.object().meta.name.str();
    if (change.before) {
      RC_ASSERT(heard.contains(name) && heard[name] == change.before);
    } else {
      RC_ASSERT(!heard.contains(name));
    }
    if (change.after) {
      heard[name] = change.after;
    } else {
      heard.erase(name);
    }
  });
  size_t delivered = 0;
  bool lost = true;  // until the first list nothing can be delivered
  std::map<std::string, size_t> awaited;
  size_t settled = 0;
  cache.on_settled([&](const ObjectKey&) { ++settled; });

  auto steps = *rc::gen::container<std::vector<std::tuple<int, int, int>>>(
      rc::gen::tuple(rc::gen::inRange(0, 12), rc::gen::inRange(0, 5), rc::gen::inRange(0, 3)));
  for (const auto& [action, which, node] : steps) {
    switch (action) {
      case 0:
      case 1:
      case 2:
        truth.change(which, node, false);
        break;
      case 3:
        truth.change(which, node, true);
        break;
      case 4:  // our own write, or our own deletion
      case 5: {
        size_t before = truth.log.size();
        truth.change(which, node, action == 5);
        if (truth.log.size() == before) break;
        const auto& change = truth.log.back();
        ObjectKey key = change.object->meta.key();
        if (action == 4) {
          cache.expect(key, change.object->meta.resource_version);
          awaited[key.name] = truth.log.size();
        } else {
          cache.expect_deleted(key, change.object->meta.uid);
        }
        break;
      }
      case 6:
      case 7:
      case 8:  // the next event
        if (lost || delivered == truth.log.size()) break;
        cache.apply(truth.log[delivered].type, truth.log[delivered].object);
        ++delivered;
        break;
      case 9:  // an event comes again
        if (lost || delivered == 0) break;
        {
          size_t again = delivered - 1 - static_cast<size_t>(which) % delivered;
          RC_ASSERT(!cache.apply(truth.log[again].type, truth.log[again].object));
        }
        break;
      case 10: {  // the stream breaks; a list, perhaps from a server that lags
        size_t lag = static_cast<size_t>(node) * 2;
        size_t at = truth.log.size() - std::min(lag, truth.log.size());
        bool taken = cache.replace(truth.at(at), version_text(at));
        RC_ASSERT(taken == (at >= delivered || cache.version().empty()));
        if (taken) {
          delivered = at;
          lost = false;
        }
        break;
      }
      case 11:  // a bookmark
        if (!lost) cache.advance(version_text(delivered));
        break;
      default:
        break;
    }
    if (!lost) RC_ASSERT(shown(cache) == shown(truth.at(delivered)));
    check_indexes(cache);
    for (const auto& [name, version] : awaited) {
      if (cache.is_current({"default", name})) RC_ASSERT(delivered >= version);
    }
  }
  RC_ASSERT(cache.replace(truth.at(truth.log.size()), version_text(truth.log.size())));
  RC_ASSERT(shown(cache) == shown(truth.at(truth.log.size())));
  check_indexes(cache);
  Shown believed;
  for (const auto& [name, pod] : heard) {
    believed[name] = {pod->meta.resource_version.str(), pod->node_name.str()};
  }
  RC_ASSERT(believed == shown(cache));
  RC_ASSERT(cache.expectations().empty());
}

}  // namespace
}  // namespace lockstep::kube::cache_property_test

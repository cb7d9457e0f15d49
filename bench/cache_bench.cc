// How fast a list becomes a cache, and what the cache keeps: the figures behind "ten thousand
// nodes".
//
// Memory is measured as the growth of the allocator's own count of bytes in use (mallinfo2:
// uordblks for the heap and hblkhd for large blocks of their own), so it holds everything: objects,
// strings, indexes, the allocator's overhead. The pool of strings is made beforehand and counts
// only for what is put into it. Exit code 1 when a target is missed.

#include <malloc.h>
#include <memory>
#include <string>
#include <time.h>

#include <fmt/format.h>

#include "fleet_json.h"
#include "kube/cache.h"
#include "kube/typed.h"
#include "measure.h"
#include "objects/node.h"
#include "objects/pod.h"

namespace lockstep::bench {
namespace {

template <typename T>
size_t fill(kube::Cache<T>& cache, const kube::Body& body, DecodeContext& context) {
  std::vector<std::shared_ptr<const T>> objects;
  auto page = kube::decode_list_body<T>(
      body, context,
      [&](T&& object) { objects.push_back(std::make_shared<const T>(std::move(object))); },
      [](const BadItem& bad) { fmt::print("bad item: {}\n", bad.error.text()); });
  if (!page) {
    fmt::print("the list was refused: {}\n", page.error().text());
    return 0;
  }
  cache.replace(std::move(objects), page->resource_version);
  return cache.size();
}

std::vector<kube::Cache<Pod>::Index> pod_indexes() {
  return {
      {"node", [](const Pod& pod, std::vector<Text>& values) { values.push_back(pod.node_name); }},
      {"owner", [](const Pod& pod, std::vector<Text>& values) {
         if (const auto* owner = pod.meta.controller()) values.push_back(owner->uid);
       }}};
}

template <typename T, typename Indexes>
void measure(const std::string& what, const kube::Body& body, size_t count, double rate_target,
             double memory_target, Indexes indexes) {
  const auto size = static_cast<double>(std::get<std::string>(body).size());
  report(what + " list", size / 1e6, "MB");
  report(what + " JSON each", size / static_cast<double>(count), "bytes");
  {
    auto context = std::make_unique<DecodeContext>();
    kube::Cache<T> cache(indexes());
    size_t before = bytes_in_use();
    if (fill(cache, body, *context) != count) {
      fmt::print("{}: {} objects in the cache instead of {}\n", what, cache.size(), count);
      ++missed;
    }
    malloc_trim(0);
    size_t after = bytes_in_use();
    report_at_most(what + " kept each",
                   static_cast<double>(after - before) / static_cast<double>(count), "bytes",
                   memory_target);
  }
  double best = 1e9;
  for (int round = 0; round < 5; ++round) {
    auto context = std::make_unique<DecodeContext>();
    kube::Cache<T> cache(indexes());
    double begin = processor_seconds();
    fill(cache, body, *context);
    best = std::min(best, processor_seconds() - begin);
  }
  report_at_least(what + " list to cache, best of 5, one core", size / 1e6 / best, "MB/s",
                  rate_target);
  report(what + " list to cache", best * 1e3, "ms");
}

// One event after the other into a full cache: what a watch costs.
void measure_events(const kube::Body& list, size_t count) {
  auto context = std::make_unique<DecodeContext>();
  kube::Cache<Pod> cache(pod_indexes());
  fill(cache, list, *context);
  std::vector<kube::Body> bodies;
  for (size_t i = 0; i < count; i += 10) bodies.emplace_back(pod_json(i));
  double begin = processor_seconds();
  for (const kube::Body& body : bodies) {
    if (auto pod = kube::decode_shared<Pod>(body, *context)) {
      Pod changed = **pod;
      changed.meta.resource_version =
          Text(fmt::format("1{}", changed.meta.resource_version.view()));
      cache.apply(kube::WatchEventType::modified, std::make_shared<const Pod>(std::move(changed)));
    }
  }
  report("pod events into a full cache",
         static_cast<double>(bodies.size()) / (processor_seconds() - begin), "events/s");
}

}  // namespace
}  // namespace lockstep::bench

int main() {
  using namespace lockstep;
  using namespace lockstep::bench;
  constexpr size_t nodes = 10'000;
  constexpr size_t pods = 100'000;
  {
    // The whole, and a lean one: what is skipped is cheap, so fewer images make it harder.
    kube::Body list = list_json("Node", "v1", nodes, [](size_t i) { return node_json(i); });
    measure<Node>("node", list, nodes, 300, 8192,
                  [] { return std::vector<kube::Cache<Node>::Index>(); });
    list = list_json("Node", "v1", nodes, [](size_t i) {
      return node_json(i, NodeShape{.images = 10, .managed_fields = false});
    });
    measure<Node>("lean node", list, nodes, 300, 8192,
                  [] { return std::vector<kube::Cache<Node>::Index>(); });
  }
  {
    kube::Body list = list_json("Pod", "v1", pods, [](size_t i) {
      return pod_json(pod_in_list_order(i, pods / pods_per_node));
    });
    measure<Pod>("pod", list, pods, 300, 1536, pod_indexes);
    measure_events(list, pods);
  }
  return missed == 0 ? 0 : 1;
}

#include "node/node_reader.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "kube/typed.h"
#include "objects/node.h"

namespace lockstep::node {

// What has come so far; the last answer hands it over.
struct NodeReader::Reading {
  NodeReading result;
  // Null: the claim does not exist.
  std::map<ObjectKey, std::shared_ptr<const ResourceClaim>> claims;
  std::optional<Error> error;  // the first
  size_t open = 0;
  Done done;

  void fail_with(Error failure) {
    if (!error) error = std::move(failure);
  }
};

namespace {

StringMap node_selector_of(const Json& pod) {
  StringMap selector;
  const Json* entries = find(pod, "spec", "nodeSelector");
  if (entries == nullptr || !entries->is_object()) return selector;
  for (const auto& [key, value] : entries->get_object()) {
    selector.set(Text(std::string_view(key)), Text(as_text(&value)));
  }
  return selector;
}

}  // namespace

void NodeReader::read(const std::string& node, Done done) {
  auto reading = std::make_shared<Reading>();
  reading->done = std::move(done);
  ask(reading, kube::get(resource::nodes, {"", node}),
      [this, reading](const kube::Response& response) { take_node(*reading, response); });
  kube::Request pods = kube::list(resource::pods);
  pods.with("fieldSelector", "spec.nodeName=" + node);
  ask(reading, std::move(pods),
      [this, reading](const kube::Response& response) { take_pods(reading, response); });
}

void NodeReader::ask(const Shared& reading, kube::Request request,
                     std::function<void(const kube::Response&)> take) {
  ++reading->open;
  std::string what = request.describe();
  api_.call(std::move(request),
            scope_.bind([this, reading, what, take = std::move(take)](const kube::Reply& reply) {
              if (reply) {
                take(*reply);
              } else {
                reading->fail_with(reply.error().at(what));
              }
              if (--reading->open > 0) return;
              // The callback may destroy what it came from.
              Done done = std::move(reading->done);
              done(finish(*reading));
            }));
}

void NodeReader::take_node(Reading& reading, const kube::Response& response) {
  if (!response.ok()) return reading.fail_with(response.error());
  auto node = kube::decode_shared<Node>(response.body, context_);
  if (!node) return reading.fail_with(node.error());
  reading.result.node = std::move(*node);
}

void NodeReader::take_pods(const Shared& reading, const kube::Response& response) {
  if (!response.ok()) return reading->fail_with(response.error());
  auto list = response.document();
  if (!list) return reading->fail_with(list.error());
  const Json* items = find(**list, "items");
  if (items == nullptr || !items->is_array()) return;
  std::set<ObjectKey> claims;
  for (const Json& item : items->get_array()) {
    auto pod = decode_object<Pod>(item, context_);
    // It may use a GPU.
    if (!pod) return reading->fail_with(pod.error());
    if (!pod->is_finished()) {
      for (const Text& name : claims_of(*pod).names)
        claims.insert({pod->meta.ns.str(), name.str()});
    }
    PodHere here;
    here.node_selector = node_selector_of(item);
    here.entry.pod = std::make_shared<const Pod>(std::move(*pod));
    reading->result.pods.push_back(std::move(here));
  }
  for (const ObjectKey& key : claims) {
    ask(reading, kube::get(resource::resource_claims, key),
        [this, reading, key](const kube::Response& claim) { take_claim(*reading, key, claim); });
  }
}

void NodeReader::take_claim(Reading& reading, const ObjectKey& key,
                            const kube::Response& response) {
  if (response.code == 404) {
    reading.claims[key] = nullptr;
    return;
  }
  if (!response.ok()) return reading.fail_with(response.error());
  auto claim = kube::decode_shared<ResourceClaim>(response.body, context_);
  if (!claim) return reading.fail_with(claim.error());
  reading.claims[key] = std::move(*claim);
}

Result<NodeReading> NodeReader::finish(Reading& reading) const {
  if (reading.error) return fail(*reading.error);
  auto lookup = [&](std::string_view ns, std::string_view name) {
    auto found = reading.claims.find({std::string(ns), std::string(name)});
    return found == reading.claims.end() ? nullptr : found->second;
  };
  auto& pods = reading.result.pods;
  for (PodHere& here : pods) {
    here.entry.uses_gpu = fleet::uses_gpu(here.pod(), lookup, gpu_pods_);
    Pod claims_only = here.pod();
    claims_only.spec.containers.clear();
    claims_only.spec.init_containers.clear();
    here.holds_gpu_claim = fleet::uses_gpu(claims_only, lookup, gpu_pods_);
  }
  std::sort(pods.begin(), pods.end(), [](const PodHere& a, const PodHere& b) {
    return std::pair(a.pod().meta.ns.view(), a.pod().meta.name.view()) <
           std::pair(b.pod().meta.ns.view(), b.pod().meta.name.view());
  });
  return std::move(reading.result);
}

}  // namespace lockstep::node

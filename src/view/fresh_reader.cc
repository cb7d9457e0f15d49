#include "view/fresh_reader.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "kube/typed.h"
#include "objects/node.h"
#include "view/driver_revisions.h"

namespace lockstep::view {

namespace {

using Revisions = std::vector<std::shared_ptr<const ControllerRevision>>;

Revisions owned_by(Revisions revisions, const Text& uid) {
  std::erase_if(revisions, [&](const auto& revision) {
    const OwnerReference* owner = revision->meta.controller();
    return owner == nullptr || owner->uid != uid;
  });
  return revisions;
}

bool is_behind_on_revisions(const FreshNode& fresh, const fleet::DriverView& driver) {
  const auto revisions = owned_by(fresh.revisions, driver.set->meta.uid);
  // Where the watches do not tell which it is, and what was read does.
  if (driver.newest_revision.empty()) return !newest_among(revisions, driver).empty();
  const ControllerRevision* newest = fleet::newest_revision(revisions);
  return newest != nullptr && newest->hash() != driver.newest_revision;
}

}  // namespace

// What has come so far; the last answer hands it over.
struct FreshReader::Reading {
  FreshNode fresh;
  std::optional<Error> error;  // the first
  size_t open = 0;
  Done done;

  void fail_with(Error failure) {
    if (!error) error = std::move(failure);
  }
};

void FreshReader::read(const std::string& node, const FreshNeeds& needs, Done done) {
  auto reading = std::make_shared<Reading>();
  reading->done = std::move(done);
  reading->fresh.node = needs.node;
  reading->fresh.has_read_node = needs.node == nullptr;
  reading->fresh.has_read_driver = needs.driver;
  reading->fresh.asked_driver_set = needs.driver_set;
  if (needs.node == nullptr) {
    ask(reading, kube::get(resource::nodes, {"", node}),
        [this, reading](const kube::Response& response) { take_node(*reading, response); });
  }
  kube::Request pods = kube::list(resource::pods);
  pods.with("fieldSelector", "spec.nodeName=" + node);
  ask(reading, std::move(pods),
      [this, reading](const kube::Response& response) { take_pods(reading, response); });
  if (needs.driver && needs.driver_set) {
    ask(reading, kube::get(resource::daemon_sets, *needs.driver_set),
        [this, reading](const kube::Response& response) { take_driver_set(*reading, response); });
  }
  if (needs.slices) {
    kube::Request slices = kube::list(resource::resource_slices);
    slices.with("fieldSelector", "spec.nodeName=" + node);
    ask(reading, std::move(slices),
        [this, reading](const kube::Response& response) { take_slices(*reading, response); });
  }
  if (!needs.revisions) return;
  reading->fresh.has_read_revisions = true;
  if (!needs.driver_set) return;
  kube::Request revisions = kube::list(resource::controller_revisions);
  revisions.ns = needs.driver_set->ns;
  ask(reading, std::move(revisions),
      [this, reading](const kube::Response& response) { take_revisions(*reading, response); });
}

void FreshReader::ask(const Shared& reading, kube::Request request,
                      std::function<void(const kube::Response&)> take) {
  ++reading->open;
  api_.call(std::move(request),
            scope_.bind([reading, take = std::move(take)](const kube::Reply& reply) {
              if (reply) {
                take(*reply);
              } else {
                reading->fail_with(reply.error());
              }
              if (--reading->open > 0) return;
              if (reading->error) return reading->done(fail(*reading->error));
              reading->done(std::move(reading->fresh));
            }));
}

void FreshReader::take_node(Reading& reading, const kube::Response& response) {
  if (response.code == 404) return;
  if (!response.ok()) return reading.fail_with(response.error());
  auto node = kube::decode_shared<Node>(response.body, context_);
  if (!node) return reading.fail_with(node.error());
  reading.fresh.node = std::move(*node);
}

void FreshReader::take_driver_set(Reading& reading, const kube::Response& response) {
  if (response.code == 404) return;
  if (!response.ok()) return reading.fail_with(response.error());
  auto set = kube::decode_shared<DaemonSet>(response.body, context_);
  if (!set) return reading.fail_with(set.error());
  reading.fresh.driver_set = std::move(*set);
}

void FreshReader::take_revisions(Reading& reading, const kube::Response& response) {
  if (!response.ok()) return reading.fail_with(response.error());
  auto& revisions = reading.fresh.revisions;
  auto page = kube::decode_list_shared<ControllerRevision>(
      response.body, context_,
      [&](std::shared_ptr<const ControllerRevision> revision) {
        revisions.push_back(std::move(revision));
      },
      [&](const BadItem& bad) { reading.fail_with(bad.error); });
  if (!page) reading.fail_with(page.error());
}

void FreshReader::take_slices(Reading& reading, const kube::Response& response) {
  auto& slices = reading.fresh.slices.emplace();
  // A cluster without ResourceSlices.
  if (response.code == 404) return;
  if (!response.ok()) return reading.fail_with(response.error());
  auto page = kube::decode_list_shared<ResourceSlice>(
      response.body, context_,
      [&](std::shared_ptr<const ResourceSlice> slice) { slices.push_back(std::move(slice)); },
      [&](const BadItem& bad) { reading.fail_with(bad.error); });
  if (!page) reading.fail_with(page.error());
}

void FreshReader::take_pods(const Shared& reading, const kube::Response& response) {
  if (!response.ok()) return reading->fail_with(response.error());
  auto& pods = reading->fresh.pods;
  auto page = kube::decode_list_shared<Pod>(
      response.body, context_, [&](fleet::PodPtr pod) { pods.push_back(std::move(pod)); },
      // It may use a GPU.
      [&](const BadItem& bad) { reading->fail_with(bad.error); });
  if (!page) return reading->fail_with(page.error());
  std::sort(pods.begin(), pods.end(), [](const fleet::PodPtr& a, const fleet::PodPtr& b) {
    return kube::KeyView(a->meta) < kube::KeyView(b->meta);
  });
  std::set<ObjectKey> unknown;
  for (const fleet::PodPtr& pod : pods) {
    if (pod->is_finished()) continue;
    for (const Text& name : claims_of(*pod).names) {
      auto held = claims_.find(kube::KeyView(pod->meta.ns, name));
      if (!held || !held->allocated) unknown.insert({pod->meta.ns.str(), name.str()});
    }
  }
  for (const ObjectKey& key : unknown) {
    ask(reading, kube::get(resource::resource_claims, key),
        [this, reading, key](const kube::Response& claim) { take_claim(*reading, key, claim); });
  }
}

void FreshReader::take_claim(Reading& reading, const ObjectKey& key,
                             const kube::Response& response) {
  if (response.code == 404) {
    reading.fresh.claims[key] = nullptr;
    return;
  }
  if (!response.ok()) return reading.fail_with(response.error());
  auto claim = kube::decode_shared<ResourceClaim>(response.body, context_);
  if (!claim) return reading.fail_with(claim.error());
  reading.fresh.claims[key] = std::move(*claim);
}

bool is_behind_on_driver(const FreshNode& fresh, const fleet::NodeView& view) {
  if (!fresh.has_read_driver) return false;
  // The pod is another's than the one that was known when the question was asked.
  if (view.driver.set_to_ask() != fresh.asked_driver_set) return true;
  // No orphan, but the pod of a DaemonSet that was not seen yet.
  if (view.driver.is_orphan()) {
    const OwnerReference* owner = view.driver.pod->meta.controller();
    return owner != nullptr && fresh.driver_set && fresh.driver_set->meta.uid == owner->uid;
  }
  const auto& set = view.driver.set;
  if (!set) return false;
  if (!fresh.driver_set || fresh.driver_set->meta.uid != set->meta.uid ||
      fresh.driver_set->meta.generation != set->meta.generation) {
    return true;
  }
  return fresh.has_read_revisions && is_behind_on_revisions(fresh, view.driver);
}

Backlog::Backlog(const FreshNode& fresh, const std::string& node, const kube::Cache<Pod>& pods) {
  if (fresh.node) node_version_ = fresh.node->meta.resource_version.str();
  std::set<std::string_view> uids;
  for (const fleet::PodPtr& pod : fresh.pods) {
    uids.insert(pod->meta.uid.view());
    const Text& version = pod->meta.resource_version;
    if (pods_version_.empty() || compare_versions(version, pods_version_) == VersionOrder::newer) {
      pods_version_ = version.str();
    }
  }
  pods.for_each("node", node, [&](const fleet::PodPtr& pod) {
    if (!uids.contains(pod->meta.uid.view())) gone_.emplace_back(pod->meta.key(), pod->meta.uid);
  });
}

bool Backlog::remains(const kube::Cache<Node>& nodes, const kube::Cache<Pod>& pods) const {
  auto is_older = [](const Text& seen, const std::string& wanted) {
    return !wanted.empty() && compare_versions(seen, wanted) == VersionOrder::older;
  };
  if (is_older(nodes.version(), node_version_) || is_older(pods.version(), pods_version_)) {
    return true;
  }
  return std::any_of(gone_.begin(), gone_.end(), [&](const auto& entry) {
    auto held = pods.find(entry.first);
    return held && held->meta.uid == entry.second;
  });
}

}  // namespace lockstep::view

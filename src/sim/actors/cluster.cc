#include "sim/actors/cluster.h"

#include <algorithm>
#include <utility>

#include "base/digest.h"

namespace lockstep::sim {

namespace {

// What watchers may still ask for. The log of a large fleet would otherwise be most of its memory;
// a real server keeps the last 75 seconds for them.
constexpr Duration changes_kept_for = minutes(2);
constexpr size_t changes_kept_at_least = 10'000;
constexpr uint64_t milestone_every = 1024;

apiserver::Options store_options(int nodes) {
  apiserver::Options options;
  options.managed_fields = false;
  // All pods of the fleet may be made in one instant, before a watcher has seen the
  // first.
  options.log_limit = changes_kept_at_least + 4 * static_cast<size_t>(nodes);
  return options;
}

bool is_rolled_out(const Json& daemon_set) {
  int64_t desired = as_integer(find(daemon_set, "status", "desiredNumberScheduled"), -1);
  return desired >= 0 && as_integer(find(daemon_set, "status", "numberReady"), -1) == desired &&
         as_integer(find(daemon_set, "status", "updatedNumberScheduled"), -1) == desired;
}

}  // namespace

Cluster::Cluster(ClusterOptions options)
    : loop(options.seed),
      random(options.seed * 2 + 1),
      store_random_(options.seed * 2),
      backend(loop, store_random_, store_options(options.simulated.fleet.nodes)),
      housekeeping(backend),
      fault_random_(options.seed * 2 + 3),
      faults_(options.fleet_faults, fault_random_),
      fault_api_(api("simulated-fleet"), loop, faults_),
      fleet(Parts{fault_api_, loop, random, log_}, std::move(options.simulated)) {
  backend.store.add_listener([this](const std::string&, const apiserver::Change& change) {
    forget_old_changes(change.version);
  });
  housekeeping.make_namespaces();
}

void Cluster::forget_old_changes(uint64_t version) {
  if (version % milestone_every != 0) return;
  milestones_.push_back({loop.uptime(), version});
  while (loop.uptime() - milestones_.front().at > changes_kept_for) {
    backend.store.forget_changes(milestones_.front().version, changes_kept_at_least);
    milestones_.pop_front();
  }
}

kube::Api& Cluster::api(const std::string& name) {
  auto& api = apis_[name];
  if (api == nullptr) {
    api = std::make_unique<apiserver::InProcessApi>(backend, apiserver::Caller{name, {}, name});
  }
  return *api;
}

bool Cluster::start(Duration limit) {
  fleet.start();
  auto done = [this] {
    if (!fleet.running()) return false;
    for (const std::string& node : kubelets().node_names()) {
      if (!kubelets().machine(node).loaded()) return false;
    }
    for (const Document& daemon_set : list(resource::daemon_sets)) {
      if (!is_rolled_out(*daemon_set)) return false;
    }
    return true;
  };
  // Checking every node after every event would cost more than the events.
  Duration end = loop.uptime() + limit;
  while (!done()) {
    if (loop.uptime() >= end) return false;
    loop.run_for(seconds(1));
  }
  return true;
}

Result<Document> Cluster::call(const kube::Request& request) {
  return kube::document_of(apiserver::response_of(apiserver::handle(backend, request, caller_)));
}

Document Cluster::get(const ResourceType& type, const ObjectKey& key) {
  auto found = call(kube::get(type, key));
  return found ? *found : nullptr;
}

std::vector<Document> Cluster::list(const ResourceType& type, const std::string& ns) {
  auto answer = apiserver::handle(backend, kube::list(type, ns), caller_);
  std::vector<Document> documents;
  if (!answer) return documents;
  for (const auto& item : std::get<apiserver::ListResult>(answer->body).items)
    documents.push_back(item->document());
  return documents;
}

Result<void> Cluster::set_driver_version(const std::string& version,
                                         const std::string& chart_version) {
  JsonObject patch{{"spec", JsonObject{{"driver", JsonObject{{"version", version}}}}}};
  if (!chart_version.empty()) {
    patch["metadata"] =
        JsonObject{{"labels", JsonObject{{"helm.sh/chart", "gpu-operator-" + chart_version}}}};
  }
  LOCKSTEP_TRY(Document written,
               call(merge_patch(cluster_policies, {"", "cluster-policy"}, std::move(patch))));
  (void)written;
  return {};
}

Result<void> Cluster::set_nvidia_driver_version(const std::string& name,
                                                const std::string& version) {
  LOCKSTEP_TRY(Document written,
               call(merge_patch(nvidia_drivers, {"", name},
                                JsonObject{{"spec", JsonObject{{"version", version}}}})));
  (void)written;
  return {};
}

std::vector<Document> Cluster::pods_of(std::string_view daemon_set, std::string_view node) {
  std::vector<Document> pods;
  for (const Document& pod : list(resource::pods)) {
    if (text_at(*pod, "spec", "nodeName") != node) continue;
    if (text_at(*pod, "metadata", "namespace") == tenant_namespace) continue;
    const Json* owners = find(*pod, "metadata", "ownerReferences");
    if (owners == nullptr || !owners->is_array() || owners->get_array().empty()) continue;
    if (text_at(owners->get_array().front(), "name") == daemon_set) pods.push_back(pod);
  }
  return pods;
}

std::string Cluster::digest() {
  Digest digest;
  for (const std::string& storage : backend.store.storages()) {
    digest.add(storage);
    // Not bytes(), which keeps the text: 22 KB a node.
    for (const auto& [key, object] : backend.store.shelf(storage).objects())
      digest.add(print_json(object->json()));
  }
  return digest.hex();
}

}  // namespace lockstep::sim

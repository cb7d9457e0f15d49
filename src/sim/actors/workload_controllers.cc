#include "sim/actors/workload_controllers.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "sim/actors/template_hash.h"

namespace lockstep::sim {

namespace {

constexpr std::string_view deployment_prefix = "deployment:";
constexpr std::string_view replica_set_prefix = "replicaset:";
constexpr std::string_view job_prefix = "job:";

}  // namespace

WorkloadControllers::WorkloadControllers(Parts parts, View& view, Duration reaction)
    : parts_(parts),
      view_(view),
      reaction_(reaction),
      writer_(parts),
      queue_(parts.loop, parts.random, {},
             [this](const std::string& key) {
               sync(key);
               queue_.done(key);
             }),
      maker_(parts, view, [this](const std::string& uid) {
        auto at = key_by_uid_.find(uid);
        if (at != key_by_uid_.end()) queue_.add_after(at->second, reaction_);
      }) {
  follow(resource::deployments, deployment_prefix);
  follow(resource::replica_sets, replica_set_prefix);
  follow(resource::jobs, job_prefix);
}

void WorkloadControllers::follow(const ResourceType& type, std::string_view prefix) {
  view_.of(type).on_change(scope_.bind([this, prefix](const ObjectCache::Change& change) {
    const ObjectMeta& meta = change.object().meta;
    std::string key = std::string(prefix) + meta.key().text();
    if (!change.after) {
      key_by_uid_.erase(meta.uid.str());
      done_.erase(meta.uid.str());
      return;
    }
    key_by_uid_[meta.uid.str()] = key;
    queue_.add_after(key, reaction_);
    // A ReplicaSet's status is what its Deployment's is made of.
    if (const OwnerReference* owner = meta.controller()) {
      auto at = key_by_uid_.find(owner->uid.str());
      if (at != key_by_uid_.end()) queue_.add_after(at->second, reaction_);
    }
  }));
}

void WorkloadControllers::sync(const std::string& key) {
  if (!view_.synced()) return queue_.add_after(key, seconds(1));
  ObjectKey name = ObjectKey::parse(std::string_view(key).substr(key.find(':') + 1));
  auto with = [&](const ResourceType& type, auto function) {
    Object object = view_.of(type).find(name);
    if (object && !object->meta.is_deleting()) (this->*function)(*object);
  };
  if (key.starts_with(deployment_prefix)) {
    with(resource::deployments, &WorkloadControllers::sync_deployment);
  } else if (key.starts_with(replica_set_prefix)) {
    with(resource::replica_sets, &WorkloadControllers::sync_replica_set);
  } else {
    with(resource::jobs, &WorkloadControllers::sync_job);
  }
}

void WorkloadControllers::sync_deployment(const GenericObject& deployment) {
  const Json& spec = deployment.document->at("spec");
  int64_t replicas = as_integer(find(spec, "replicas"), 1);
  const Json& pod_template = spec.at("template");
  std::string hash = template_hash(pod_template);
  ObjectKey key{deployment.meta.ns.str(), fmt::format("{}-{}", deployment.meta.name.view(), hash)};
  auto scale = [&](const Object& replica_set, int64_t to) {
    if (as_integer(find(*replica_set->document, "spec", "replicas"), 1) == to) return;
    writer_.send(merge_patch(resource::replica_sets, replica_set->meta.key(),
                             JsonObject{{"spec", JsonObject{{"replicas", to}}}}));
  };
  Object current;
  view_.of(resource::replica_sets)
      .for_each("owner", deployment.meta.uid, [&](const Object& replica_set) {
        if (replica_set->meta.name == key.name) {
          current = replica_set;
          scale(replica_set, replicas);
        } else {
          scale(replica_set, 0);
        }
      });
  if (!current) {
    Json labelled = pod_template;
    ensure_object(ensure_object(labelled.as_object(), "metadata"), "labels")["pod-template-hash"] =
        hash;
    Json selector = spec.at("selector");
    ensure_object(selector.as_object(), "matchLabels")["pod-template-hash"] = hash;
    JsonObject metadata{{"name", key.name},
                        {"labels", labelled.at("metadata").at("labels")},
                        {"ownerReferences", owned_by(resource::deployments, deployment)}};
    writer_.send(kube::create(resource::replica_sets, key.ns,
                              JsonObject{{"apiVersion", "apps/v1"},
                                         {"kind", "ReplicaSet"},
                                         {"metadata", std::move(metadata)},
                                         {"spec", JsonObject{{"replicas", replicas},
                                                             {"selector", std::move(selector)},
                                                             {"template", std::move(labelled)}}}}));
    return;
  }
  const Json& document = *current->document;
  int64_t ready = as_integer(find(document, "status", "readyReplicas"));
  int64_t made = as_integer(find(document, "status", "replicas"));
  write_status(resource::deployments, deployment,
               JsonObject{{"observedGeneration", deployment.meta.generation},
                          {"replicas", made},
                          {"updatedReplicas", made},
                          {"readyReplicas", ready},
                          {"availableReplicas", ready},
                          {"unavailableReplicas", std::max<int64_t>(replicas - ready, 0)}});
}

void WorkloadControllers::sync_replica_set(const GenericObject& replica_set) {
  const Json& spec = replica_set.document->at("spec");
  int64_t wanted = as_integer(find(spec, "replicas"), 1);
  std::string uid = replica_set.meta.uid.str();
  int64_t present = maker_.count(uid).present();
  for (int64_t i = present; i < wanted; ++i)
    maker_.create(resource::replica_sets, replica_set, spec.at("template"), {}, "Always");
  if (present > wanted) {
    // Those that are not ready are the smallest loss.
    std::vector<Object> live = maker_.live_pods(uid);
    std::stable_partition(live.begin(), live.end(),
                          [](const Object& pod) { return is_ready(*pod); });
    for (int64_t i = present; i > wanted && !live.empty(); --i) {
      maker_.remove(*live.back());
      live.pop_back();
    }
  }
  PodMaker::Counts left = maker_.count(uid);
  write_status(resource::replica_sets, replica_set,
               JsonObject{{"observedGeneration", replica_set.meta.generation},
                          {"replicas", left.live},
                          {"fullyLabeledReplicas", left.live},
                          {"readyReplicas", left.ready},
                          {"availableReplicas", left.ready}});
}

void WorkloadControllers::sync_job(const GenericObject& job) {
  const Json& spec = job.document->at("spec");
  std::string uid = job.meta.uid.str();
  PodMaker::Counts pods = maker_.count(uid);
  // A pod that has done its work counts even after its deletion.
  std::set<std::string>& done = done_[uid];
  done.merge(maker_.take_succeeded(uid));
  int64_t completions = as_integer(find(spec, "completions"), 1);
  int64_t succeeded = std::max(static_cast<int64_t>(done.size()),
                               as_integer(find(*job.document, "status", "succeeded")));
  bool complete = succeeded >= completions;
  bool suspended = as_bool(find(spec, "suspend"));
  // Kubernetes retries six times, with growing pauses; here only a Job without retries fails.
  bool given_up = pods.failed > 0 && as_integer(find(spec, "backoffLimit"), 6) == 0;
  int64_t wanted =
      complete || suspended || given_up
          ? 0
          : std::min(as_integer(find(spec, "parallelism"), 1), completions - succeeded);
  JsonObject labels{{"batch.kubernetes.io/job-name", job.meta.name.view()},
                    {"job-name", job.meta.name.view()},
                    {"batch.kubernetes.io/controller-uid", uid}};
  for (int64_t i = pods.present(); i < wanted; ++i)
    maker_.create(resource::jobs, job, spec.at("template"), labels, "Never");
  if (suspended) {
    for (const Object& pod : maker_.live_pods(uid)) maker_.remove(*pod);
  }
  std::string now = format_rfc3339(parts_.loop.now());
  std::string_view started = text_at(*job.document, "status", "startTime");
  JsonObject status{{"active", pods.live},
                    {"ready", pods.ready},
                    {"succeeded", succeeded},
                    {"failed", pods.failed},
                    {"startTime", started.empty() ? std::string_view(now) : started}};
  if (complete && text_at(*job.document, "status", "completionTime").empty()) {
    auto condition = [&](std::string_view type) {
      return JsonObject{{"type", type}, {"status", "True"}, {"lastTransitionTime", now}};
    };
    status["conditions"] = JsonArray{condition("SuccessCriteriaMet"), condition("Complete")};
    status["completionTime"] = now;
  }
  const Json* shown = find(*job.document, "status", "conditions");
  if (given_up && !complete && (shown == nullptr || shown->as_array().empty())) {
    status["conditions"] = JsonArray{JsonObject{{"type", "Failed"},
                                                {"status", "True"},
                                                {"reason", "BackoffLimitExceeded"},
                                                {"lastTransitionTime", now}}};
  }
  write_status(resource::jobs, job, std::move(status));
}

void WorkloadControllers::write_status(const ResourceType& type, const GenericObject& object,
                                       JsonObject status) {
  const Json* shown = find(*object.document, "status");
  bool same = shown != nullptr;
  for (const auto& [name, value] : status) {
    const Json* field = same ? find(*shown, name) : nullptr;
    // Counts of zero are left out by the server.
    same = same && (field == nullptr ? value.is_int64() && value.get_int64() == 0
                                     : json_equal(*field, value));
  }
  if (!same) writer_.send(status_patch(type, object.meta.key(), std::move(status)));
}

}  // namespace lockstep::sim

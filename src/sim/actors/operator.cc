#include "sim/actors/operator.h"

#include <utility>

#include "sim/actors/template_hash.h"

namespace lockstep::sim {

namespace {

constexpr std::string_view chart_annotation = "aicr.nvidia.com/gpu-operator-chart-version";
constexpr std::string_view restart_annotation = "kubectl.kubernetes.io/restartedAt";

}  // namespace

GpuOperator::GpuOperator(Parts parts, View& view, OperatorOptions options)
    : parts_(parts),
      view_(view),
      options_(options),
      writer_(parts),
      queue_(parts.loop, parts.random, {}, [this](const std::string& key) {
        sync(key);
        queue_.done(key);
      }) {
  using Change = ObjectCache::Change;
  view_.of(cluster_policies).on_change(scope_.bind([this](const Change& change) {
    queue_.add_after("policy/" + change.object().meta.name.str(), options_.reaction);
  }));
  view_.of(nvidia_drivers).on_change(scope_.bind([this](const Change& change) {
    queue_.add_after("driver/" + change.object().meta.name.str(), options_.reaction);
  }));
  view_.of(resource::daemon_sets).on_change(scope_.bind([this](const Change& change) {
    if (change.object().meta.ns == operator_namespace) look_at_all();
  }));
  view_.nodes().on_change(scope_.bind([this](const Change& change) {
    bool relabelled = change.after && (!change.before ||
                                       !(change.before->meta.labels == change.after->meta.labels));
    if (relabelled) look_at_all();
  }));
}

void GpuOperator::look_at_all() {
  view_.of(cluster_policies).for_each([this](const Object& policy) {
    queue_.add_after("policy/" + policy->meta.name.str(), options_.reaction);
  });
  view_.of(nvidia_drivers).for_each([this](const Object& driver) {
    queue_.add_after("driver/" + driver->meta.name.str(), options_.reaction);
  });
}

void GpuOperator::sync(const std::string& key) {
  if (!view_.synced()) return queue_.add_after(key, seconds(1));
  size_t slash = key.find('/');
  std::string name = key.substr(slash + 1);
  bool is_policy = key.starts_with("policy/");
  Object object = view_.of(is_policy ? cluster_policies : nvidia_drivers).find({"", name});
  if (!object || object->meta.is_deleting()) return;
  if (is_policy) {
    sync_policy(*object);
  } else {
    sync_driver(*object);
  }
}

void GpuOperator::sync_policy(const GenericObject& policy) {
  bool ready = true;
  if (makes_driver(*policy.document)) {
    DriverConfig config = config_of_cluster_policy(*policy.document);
    ready = apply(config, cluster_policies, policy) && is_rolled_out(config.daemon_set);
  }
  if (options_.annotate_dra) {
    std::string_view chart = policy.meta.labels.get("helm.sh/chart");
    annotate_dra(chart_annotation, std::string(chart.substr(chart.rfind("-v") + 1)));
  }
  if (options_.restart_dra_after_upgrade && upgrade_seen_ && ready) {
    upgrade_seen_ = false;
    annotate_dra(restart_annotation, format_rfc3339(parts_.loop.now()));
  }
  write_state(cluster_policies, policy, ready);
}

void GpuOperator::sync_driver(const GenericObject& driver) {
  label_nodes();
  DriverConfig config = config_of_nvidia_driver(*driver.document);
  bool ready = apply(config, nvidia_drivers, driver) && is_rolled_out(config.daemon_set);
  write_state(nvidia_drivers, driver, ready);
}

bool GpuOperator::apply(const DriverConfig& config, const ResourceType& type,
                        const GenericObject& owner) {
  ObjectKey key{std::string(operator_namespace), config.daemon_set};
  std::string token = "daemonset/" + config.daemon_set;
  if (in_flight_.contains(token)) return false;
  Wanted& made = wanted_[config.daemon_set];
  if (made.of != owner.document) made = {owner.document, driver_daemon_set(config)};
  const Json& wanted = made.daemon_set;
  Object live = view_.of(resource::daemon_sets).find(key);
  kube::Request request;
  if (!live) {
    Json object = wanted;
    object.as_object()["metadata"].as_object()["ownerReferences"] = owned_by(type, owner);
    request = kube::create(resource::daemon_sets, key.ns, std::move(object));
  } else {
    std::string_view applied = live->meta.annotations.get(applied_hash_annotation);
    if (applied == text_at(wanted, "metadata", "annotations", applied_hash_annotation)) return true;
    upgrade_seen_ = true;
    // Whole values: what is left out of the template is to go.
    JsonArray patch{JsonObject{{"op", "replace"},
                               {"path", "/spec/template"},
                               {"value", wanted.at("spec").at("template")}},
                    JsonObject{{"op", live->meta.annotations.empty() ? "add" : "replace"},
                               {"path", "/metadata/annotations"},
                               {"value", wanted.at("metadata").at("annotations")}}};
    request = kube::patch(resource::daemon_sets, key, kube::PatchType::json, std::move(patch));
  }
  in_flight_.insert(token);
  writer_.send(std::move(request), scope_.bind([this, token](const Result<Document>&) {
    in_flight_.erase(token);
    look_at_all();
  }));
  return false;
}

bool GpuOperator::is_rolled_out(const std::string& daemon_set) const {
  Object live = view_.of(resource::daemon_sets).find({std::string(operator_namespace), daemon_set});
  if (!live) return false;
  const Json& document = *live->document;
  int64_t desired = as_integer(find(document, "status", "desiredNumberScheduled"));
  return as_integer(find(document, "status", "observedGeneration")) == live->meta.generation &&
         as_integer(find(document, "status", "updatedNumberScheduled")) == desired &&
         as_integer(find(document, "status", "numberAvailable")) == desired;
}

// One that selects nodes goes before the default, which has the rest. Where two select the same
// node, it stays as it is.
std::optional<std::string> GpuOperator::owner_of(const GenericObject& node) const {
  std::string fallback;
  std::string owner;
  bool conflict = false;
  view_.of(nvidia_drivers).for_each([&](const Object& driver) {
    if (driver->meta.is_deleting()) return;
    if (as_bool(find(*driver->document, "spec", "default"))) {
      fallback = driver->meta.name.str();
      return;
    }
    const Json* selector = find(*driver->document, "spec", "nodeSelector");
    if (!matches_node_selector(node.meta.labels, selector)) return;
    conflict |= !owner.empty();
    owner = driver->meta.name.str();
  });
  if (conflict) return std::nullopt;
  return owner.empty() ? fallback : owner;
}

void GpuOperator::label_nodes() {
  view_.nodes().for_each([&](const Object& node) {
    if (node->meta.labels.get("nvidia.com/gpu.present") != "true") return;
    std::optional<std::string> owner = owner_of(*node);
    if (!owner || node->meta.labels.get(driver_owner_label) == *owner) return;
    std::string token = "node/" + node->meta.name.str();
    if (!in_flight_.insert(token).second) return;
    Json value = owner->empty() ? Json(nullptr) : Json(*owner);
    writer_.send(merge_patch(resource::nodes, node->meta.key(),
                             JsonObject{{"metadata",
                                         JsonObject{{"labels", JsonObject{{driver_owner_label,
                                                                           std::move(value)}}}}}}),
                 scope_.bind([this, token](const Result<Document>&) { in_flight_.erase(token); }));
  });
}

void GpuOperator::write_state(const ResourceType& type, const GenericObject& object, bool ready) {
  std::string_view state = ready ? "ready" : "notReady";
  if (text_at(*object.document, "status", "state") == state) return;
  writer_.send(status_patch(type, object.meta.key(),
                            JsonObject{{"state", state}, {"namespace", operator_namespace}}));
}

void GpuOperator::annotate_dra(std::string_view key, const std::string& value) {
  Object live;
  for (std::string_view name : {dra_daemon_set_name, renamed_dra_daemon_set_name}) {
    if (!live) {
      live = view_.of(resource::daemon_sets).find({std::string(dra_namespace), std::string(name)});
    }
  }
  if (!live || value.empty()) return;
  const Json& document = *live->document;
  if (text_at(document, "spec", "template", "metadata", "annotations", key) == value) return;
  JsonObject metadata{{"annotations", JsonObject{{key, value}}}};
  writer_.send(merge_patch(
      resource::daemon_sets, live->meta.key(),
      JsonObject{
          {"spec", JsonObject{{"template", JsonObject{{"metadata", std::move(metadata)}}}}}}));
}

}  // namespace lockstep::sim

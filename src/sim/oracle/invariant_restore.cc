#include "sim/oracle/invariant_restore.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "rollout/rollout_view.h"
#include "sim/actors/driver_image.h"
#include "sim/actors/driver_template.h"

namespace lockstep::sim {

namespace {

using rollout::Phase;

constexpr std::array<std::string_view, 4> image_fields = {"version", "image", "repository",
                                                          "usePrecompiled"};

const Json* driver_spec(const Json& object, bool is_policy) {
  return is_policy ? find(object, "spec", "driver") : find(object, "spec");
}

Json fields_of(const Json& object, bool is_policy) {
  JsonObject fields;
  const Json* spec = driver_spec(object, is_policy);
  for (std::string_view name : image_fields) {
    const Json* value = spec == nullptr ? nullptr : find(*spec, name);
    if (value != nullptr) fields[name] = *value;
  }
  return fields;
}

Json without_fields(const Json& object, bool is_policy) {
  const Json* spec = find(object, "spec");
  if (spec == nullptr) return {};
  JsonObject rest = spec->as_object();
  JsonObject& holder = is_policy ? ensure_object(rest, "driver") : rest;
  for (std::string_view name : image_fields) holder.erase(std::string(name));
  return rest;
}

std::string image_of(const Json& object, bool is_policy) {
  const DriverConfig config =
      is_policy ? config_of_cluster_policy(object) : config_of_nvidia_driver(object);
  return driver_image(config.repository, config.image, config.version, config.precompiled);
}

// The driver's image in the revision of any DaemonSet with this hash; empty: it is gone.
std::string image_of_revision(Cluster& cluster, const std::string& hash) {
  for (const Document& revision : cluster.list(resource::controller_revisions)) {
    if (label_of(*revision, fleet::revision_label) != hash) continue;
    const Json* containers = find(*revision, "data", "spec", "template", "spec", "containers");
    if (containers != nullptr) return std::string(text_at(containers->at(0), "image"));
  }
  return {};
}

std::string image_of(Cluster& cluster, const rollout::DriverRevision& revision) {
  return revision.revisions.empty()
             ? std::string()
             : image_of_revision(cluster, revision.revisions.begin()->second);
}

}  // namespace

void ObjectRestored::on_change(const std::string& storage, const apiserver::Change& change,
                               bool ours) {
  if (storage == cluster_policies.full_name() || storage == nvidia_drivers.full_name()) {
    return on_object(storage, change, ours);
  }
  if (!ours || storage != fleet::driver_rollouts.full_name() || !change.before) return;
  const rollout::RolloutStatus& before = truth().rollout_status(change.before);
  const rollout::RolloutStatus& after = truth().rollout_status(change.object);
  if (before.phase != Phase::rolled_back && after.phase == Phase::rolled_back) {
    on_rolled_back(change.object->json(), after);
  }
}

void ObjectRestored::on_object(const std::string& storage, const apiserver::Change& change,
                               bool ours) {
  const bool is_policy = storage == cluster_policies.full_name();
  const std::string& name = change.object->key().name;
  History& history = objects_[storage + "/" + name];
  auto note = [&](const Json& object) {
    Json fields = fields_of(object, is_policy);
    if (!history.said.empty() && json_equal(history.said.back().fields, fields)) return;
    history.said.push_back({std::move(fields), image_of(object, is_policy)});
    history.changed = truth().uptime();
  };
  // As it was when the run began.
  if (change.before && history.said.empty()) note(change.before->json());
  const Json& now = change.object->json();
  if (!ours) return note(now);
  const Json fields = fields_of(now, is_policy);
  const bool was_said =
      std::any_of(history.said.begin(), history.said.end(),
                  [&](const Said& said) { return json_equal(said.fields, fields); });
  if (!was_said) {
    accuse(fmt::format("{} was set to {}, which no user ever set", name, print_json(fields)));
  }
  if (change.before && !json_equal(without_fields(change.before->json(), is_policy),
                                   without_fields(now, is_policy))) {
    accuse(fmt::format("more than the driver's image was changed in {}", name));
  }
}

void ObjectRestored::on_rolled_back(const Json& rollout, const rollout::RolloutStatus& status) {
  const rollout::RolloutSpec spec = rollout::read_rollout_spec(rollout);
  if (spec.matrix || spec.driver.kind == rollout::DriverKind::daemon_set) return;
  const bool is_policy = spec.driver.kind == rollout::DriverKind::cluster_policy;
  const ResourceType& type = is_policy ? cluster_policies : nvidia_drivers;
  const auto history = objects_.find(type.full_name() + "/" + spec.driver.name);
  Cluster& cluster = truth().cluster();
  const Document object = cluster.get(type, {"", spec.driver.name});
  if (!object || history == objects_.end()) return;
  if (truth().may_be_unknown(history->second.changed)) return;
  const std::string image = image_of(cluster, status.from);
  const auto& said = history->second.said;
  const auto before = std::find_if(said.rbegin(), said.rend(),
                                   [&](const Said& each) { return each.image == image; });
  const Json now = fields_of(*object, is_policy);
  if (before == said.rend() || json_equal(before->fields, now)) return;
  accuse(fmt::format("rollout {} is rolled back, and {} says {} instead of {}",
                     text_at(rollout, "metadata", "name"), spec.driver.name, print_json(now),
                     print_json(before->fields)));
}

void NoRejectedVersion::on_change(const std::string& storage, const apiserver::Change& change,
                                  bool ours) {
  if (storage != fleet::driver_rollouts.full_name() || !change.before) return;
  if (!ours) {
    const auto command = rollout::Command::of(change.object->json());
    if (command && command->verb == "retry") rejected_.clear();
    return;
  }
  const rollout::RolloutStatus& before = truth().rollout_status(change.before);
  const rollout::RolloutStatus& after = truth().rollout_status(change.object);
  Cluster& cluster = truth().cluster();
  // Users who set the version before by hand have rejected nothing.
  static const std::set<fleet::ReasonName> rejections = {
      fleet::Reason::nodes_failed, fleet::Reason::gate_failed, fleet::Reason::bake_failed,
      fleet::Reason::rollback_asked};
  // Or one that set it by hand has asked for the rollback as well.
  const bool was_asked = !after.history.empty() && after.last_command != before.last_command &&
                         after.history.back().reason == fleet::Reason::rollback_asked;
  const bool begins = before.phase != Phase::rolling_back && rejections.contains(after.reason);
  if (after.phase == Phase::rolling_back && (begins || was_asked)) {
    std::string image = image_of(cluster, after.to);
    // Of another change than the driver's nothing is rejected.
    const bool is_another = image != image_of(cluster, after.from);
    if (is_another && !image.empty()) rejected_.insert(std::move(image));
  }
  const bool opens = after.phase == Phase::upgrading &&
                     (before.phase != Phase::upgrading || after.open_waves > before.open_waves);
  if (!opens || rejected_.empty()) return;
  if (const std::string image = image_of(cluster, after.open_for); rejected_.contains(image)) {
    accuse(fmt::format("rollout {} opened a wave for {}, which was rolled back",
                       change.object->key().name, image));
  }
}

}  // namespace lockstep::sim

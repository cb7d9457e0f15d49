#include "sim/scenario/rollout_part.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "data/yaml.h"
#include "deploy/chart.h"
#include "fleet/keys.h"
#include "rollout/command_rules.h"
#include "rollout/matrix_edit.h"
#include "rollout/matrix_message.h"
#include "sim/actors/writer.h"

namespace lockstep::sim {

namespace {

constexpr Duration health_interval = minutes(5);
constexpr std::string_view matrix_file = "gpu-version-matrix.yaml";
constexpr std::string_view manifest_file = "manifests/cluster-policy.yaml";

}  // namespace

Json driver_rollout_definition() {
  deploy::ChartFiles files = deploy::embedded_chart();
  auto definition = parse_yaml(files["templates/driverrollouts.yaml"], "driverrollouts.yaml");
  return definition ? *definition : Json();
}

RolloutPart::RolloutPart(Cluster& cluster, const Scenario& scenario, uint64_t seed)
    : cluster_(cluster),
      scenario_(scenario),
      random_(seed * 13 + 7),
      rates_(scenario.xid_rates),
      seed_(seed) {}

RolloutPart::Git::Git(Cluster& cluster, uint64_t seed, GitOpsOptions options)
    : random(seed * 17 + 9),
      repository(cluster.loop),
      store(cluster.loop, repository),
      tool(Parts{cluster.api("gitops"), cluster.loop, random, log}, repository,
           std::move(options)) {}

// With a matrix: one version for all nodes, the canary's while there is one, and the waves decide
// which nodes get it. Without: the version as users commit it.
void RolloutPart::start_git() {
  const std::string version =
      written_version(scenario_.fleet.image_naming, scenario_.fleet.driver_version);
  GitOpsOptions options;
  if (scenario_.self_heal > Duration(0)) {
    options.heal_after = scenario_.self_heal;
    git_ = std::make_unique<Git>(cluster_, seed_, options);
    git_->repository.commit({{std::string(manifest_file), manifest_of(version)}}, "first");
    return git_->tool.start();
  }
  if (find(scenario_.rollout, "matrix") == nullptr) return;
  git_ = std::make_unique<Git>(cluster_, seed_, options);
  const std::string matrix = fmt::format(
      "versions:\n  current:\n    driver: \"{}\"\n    status: production\n"
      "  canary:\n    driver: \"\"\n    status: \"\"\n",
      version);
  const std::string manifest =
      "apiVersion: nvidia.com/v1\nkind: ClusterPolicy\nmetadata: {name: cluster-policy}\n"
      "spec:\n  driver: {version: \"${canary.driver}\"}\n";
  git_->repository.commit(
      {{std::string(matrix_file), matrix}, {std::string(manifest_file), manifest}}, "first");
  git_->tool.start();
}

std::string RolloutPart::manifest_of(std::string_view version) const {
  const std::string_view name = text_at(scenario_.rollout, "driver", "name");
  if (text_at(scenario_.rollout, "driver", "kind") == fleet::nvidia_drivers.kind) {
    return fmt::format(
        "apiVersion: {}\nkind: NVIDIADriver\nmetadata: {{name: {}}}\nspec: {{version: \"{}\"}}\n",
        fleet::nvidia_drivers.api_version(), name, version);
  }
  return fmt::format(
      "apiVersion: {}\nkind: ClusterPolicy\nmetadata: {{name: {}}}\n"
      "spec:\n  driver: {{version: \"{}\"}}\n",
      fleet::cluster_policies.api_version(), name, version);
}

Result<void> RolloutPart::commit_version(const std::string& version) {
  if (has_matrix()) return commit_versions({{"driver", version}});
  git_->repository.commit({{std::string(manifest_file), manifest_of(version)}},
                          fmt::format("driver {}", version));
  return {};
}

Result<void> RolloutPart::commit_versions(const rollout::MatrixEntries& values) {
  if (!has_matrix()) return fail(ErrorKind::invalid, "the rollout has no matrix");
  const std::string path(matrix_file);
  LOCKSTEP_TRY(const rollout::MatrixEdit edit,
               rollout::set_versions(git_->repository.log().back().revision.files.at(path), path,
                                     rollout::Slot::canary, values));
  git_->repository.commit({{path, edit.text}}, rollout::set_message(edit.changes, {}));
  return {};
}

void RolloutPart::cut_git(Duration length) {
  if (!git_) return;
  git_->repository.set_unreachable(true);
  cluster_.loop.after(length, scope_.bind([this] { git_->repository.set_unreachable(false); }));
}

std::vector<std::string> RolloutPart::commit_messages() const {
  std::vector<std::string> messages;
  if (!git_) return messages;
  for (const MemoryRepository::Entry& entry : git_->repository.log()) {
    messages.push_back(entry.message);
  }
  messages.erase(messages.begin());
  return messages;
}

Result<void> RolloutPart::start() {
  if (!enabled()) return {};
  LOCKSTEP_TRY(Document definition,
               cluster_.call(kube::create(resource::custom_resource_definitions, "",
                                          driver_rollout_definition())));
  LOCKSTEP_TRY(
      Document rollout,
      cluster_.call(kube::create(fleet::driver_rollouts, "",
                                 JsonObject{{"apiVersion", fleet::driver_rollouts.api_version()},
                                            {"kind", fleet::driver_rollouts.kind},
                                            {"metadata", JsonObject{{"name", rollout_name}}},
                                            {"spec", scenario_.rollout}})));
  (void)definition;
  (void)rollout;
  start_git();
  if (scenario_.health) tick();
  return {};
}

const rollout::RolloutStatus& RolloutPart::status() const {
  // Asked after every second of a run, most of which change nothing.
  if (const uint64_t now = cluster_.backend.store.version(); std::exchange(read_at_, now) == now) {
    return last_status_;
  }
  Document object = cluster_.get(fleet::driver_rollouts, {"", std::string(rollout_name)});
  if (object != last_read_) {
    last_read_ = object;
    last_status_ = object ? rollout::read_rollout_status(*object) : rollout::RolloutStatus{};
  }
  return last_status_;
}

bool RolloutPart::at_rest() const {
  if (!enabled()) return true;
  const rollout::RolloutStatus& now = status();
  // A user's command that was not processed yet, or a version.
  switch (now.phase) {
    case rollout::Phase::pending:
    case rollout::Phase::complete:
    case rollout::Phase::held:
    case rollout::Phase::rolled_back:
    case rollout::Phase::awaiting_approval:
      return true;
    case rollout::Phase::upgrading:
      // The next window comes by itself.
      return find(scenario_.rollout, "windows") == nullptr;
    default:
      return false;
  }
}

Result<void> RolloutPart::command(const std::string& verb) {
  rollout::Command command;
  constexpr std::string_view forced = " --force";
  command.force = verb.ends_with(forced);
  command.verb = command.force ? verb.substr(0, verb.size() - forced.size()) : verb;
  command.by = "ops";
  command.at = cluster_.loop.now() + nanoseconds(++commands_);
  Document object = cluster_.get(fleet::driver_rollouts, {"", std::string(rollout_name)});
  if (!object) return fail(ErrorKind::not_found, "there is no rollout");
  Json patch = rollout::patch_of(command, rollout::read_rollout_spec(*object));
  LOCKSTEP_TRY(Document written,
               cluster_.call(merge_patch(fleet::driver_rollouts, {"", std::string(rollout_name)},
                                         std::move(patch))));
  (void)written;
  return {};
}

Result<void> RolloutPart::change_spec(const Json& patch) {
  LOCKSTEP_TRY(Document written,
               cluster_.call(merge_patch(fleet::driver_rollouts, {"", std::string(rollout_name)},
                                         JsonObject{{"spec", patch}})));
  (void)written;
  return {};
}

void RolloutPart::tick() {
  cluster_.loop.after(health_interval, scope_.bind([this] { tick(); }));
  // Nothing happens on any node, and each has said so: days of this pass in a bake.
  bool quiet =
      std::all_of(rates_.begin(), rates_.end(), [](const auto& rate) { return rate.second <= 0; });
  if (quiet && events_.size() == cluster_.kubelets().node_names().size()) return;
  double hours_passed = in_seconds(health_interval) / 3600;
  for (const std::string& node : cluster_.kubelets().node_names()) {
    if (!cluster_.kubelets().is_there(node)) continue;
    const Machine& machine = cluster_.kubelets().machine(node);
    auto [at, is_new] = events_.try_emplace(node, 0);
    int64_t events = 0;
    double rate = rate_of(rates_, machine.version());
    if (rate > 0 && machine.loaded() && cluster_.kubelets().is_busy(node)) {
      events = draw_events(rate * machine.gpus() * hours_passed, random_);
    }
    if (events > 0) cluster_.kubelets().break_gpus(node);
    if (!is_new && events == 0) continue;
    at->second += events;
    (void)cluster_.call(
        merge_patch(resource::nodes, {"", node}, health_patch(machine, at->second)));
  }
}

}  // namespace lockstep::sim

// A fleet without a cluster: decisions about a rollout are made and carried out on values.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "data/yaml.h"
#include "fleet/keys.h"
#include "fleet/reason_test_util.h"
#include "rollout/baseline.h"
#include "rollout/decide_rollout.h"

namespace lockstep::rollout {

inline constexpr const char* test_set = "gpu-operator/nvidia-driver-daemonset";

inline DriverRevision revision(const std::string& hash, const std::string& version) {
  return {{{test_set, hash}}, version};
}
// What a ClusterPolicy says for it.
inline DriverFields fields_for(const std::string& version) {
  return {JsonObject{{"version", version}}};
}

class TestRollout {
 public:
  TestRollout(int nodes, const std::string& spec_yaml) {
    auto json = parse_yaml(
        "spec:\n  driver: {kind: ClusterPolicy, name: cluster-policy}\n" + spec_yaml, "test");
    view.name = "driver";
    view.generation = 1;
    view.spec = read_rollout_spec(*json);
    view.recorded.resize(view.spec.waves.size());
    set_target("old", "570");
    for (int i = 1; i <= nodes; ++i) add_node(i);
  }

  void add_node(int number) {
    auto node = std::make_shared<Node>();
    node->meta.name = fmt::format("gpu-{}", number);
    node->meta.created = now - hours(1);
    view.nodes.push_back({node, fleet::State::done, true, false, false, {}, false});
  }
  RolloutNode& node(int number) { return view.nodes.at(static_cast<size_t>(number - 1)); }

  // The driver's object changes first, and its DaemonSet when the operator has seen it.
  void set_object(const std::string& version) {
    view.object = fields_for(version);
    if (view.target.fields != view.object) view.target.fields.reset();
  }
  void set_target(const std::string& hash, const std::string& version) {
    view.target = revision(hash, version);
    view.object = view.target.fields = fields_for(version);
  }
  // A user sets another version, and every node notices.
  void set_version(const std::string& hash, const std::string& version) {
    set_target(hash, version);
    for (size_t i = 0; i < view.nodes.size(); ++i) {
      RolloutNode& each = view.nodes[i];
      each.in_sync =
          running_[each.name()] == hash || (running_[each.name()].empty() && hash == "old");
      each.out_of_sync = !each.in_sync;
      each.state = each.in_sync ? fleet::State::done : fleet::State::required;
    }
  }
  // What the fleet runs is known, and then another version is set.
  std::string begin() {
    settle();
    set_version("new", "580");
    return settle();
  }
  void finish(int number) {
    node(number).state = fleet::State::done;
    node(number).in_sync = true;
    node(number).out_of_sync = false;
    running_[node(number).name()] = view.target.revisions.at(test_set);
  }
  void exclude(int number, const std::string& why) { node(number).excluded = why; }
  void skip(int number) {
    node(number).skipped = true;
    exclude(number, "skipped by a user");
  }
  void remove(int number) {
    const std::string name = fmt::format("gpu-{}", number);
    std::erase_if(view.nodes, [&](const RolloutNode& each) { return each.name() == name; });
  }
  void label(int number, const std::string& key, const std::string& value) {
    auto changed = std::make_shared<Node>(*node(number).node);
    changed->meta.labels.set(Text(key), Text(value));
    node(number).node = changed;
  }
  // As `kubectl apply` of another spec.
  void set_spec(const std::string& spec_yaml) {
    auto json = parse_yaml(
        "spec:\n  driver: {kind: ClusterPolicy, name: cluster-policy}\n" + spec_yaml, "test");
    view.spec = read_rollout_spec(*json);
    // What was written down stays in the cluster, whatever the spec says.
    for (size_t i = 0; i < view.recorded.size(); ++i) {
      if (view.recorded[i]) written_[i] = *view.recorded[i];
    }
    view.recorded.assign(view.spec.waves.size(), std::nullopt);
    for (const auto& [i, record] : written_) {
      if (i < view.recorded.size()) view.recorded[i] = record;
    }
    view.baselines.resize(view.spec.waves.size());
    ++view.generation;
  }
  // After its driver was restarted.
  void fail_node(int number) {
    node(number).state = fleet::State::failed;
    node(number).out_of_sync = false;
    running_[node(number).name()] = view.target.revisions.at(test_set);
  }
  // Before its driver was touched. An empty failure: as NVIDIA's controller does it.
  void block_node(int number, const std::string& failure) {
    node(number).state = fleet::State::failed;
    auto changed = std::make_shared<Node>(*node(number).node);
    changed->meta.annotations.set(Text(fleet::failure_annotation), Text(failure));
    node(number).node = changed;
  }
  void command(const std::string& verb, const std::string& wave = "") {
    Command command{verb, wave, "alice", now, ""};
    view.command = Command::parse(print_json(command.to_json()));
    now = now + seconds(1);
  }

  // One decision, done.
  RolloutDecision step() {
    RolloutDecision decision = decide_rollout(view, now);
    now = now + seconds(1);
    if (const auto* status = decision.as<StatusWrite>()) {
      // What was asked of git was asked in the phase before.
      if (status->status.phase_since != view.status.phase_since) view.git.reset();
      if (status->status.phase_since != view.status.phase_since) view.restore.reset();
      // As it comes back from the cluster.
      view.status =
          read_rollout_status(JsonObject{{"status", rollout_status_to_json(status->status)}});
    } else if (const auto* wave = decision.as<WaveWrite>()) {
      view.recorded[wave->wave] = wave->record;
    } else if (const auto* baseline = decision.as<TakeBaseline>()) {
      view.baselines.resize(view.spec.waves.size());
      view.baselines[baseline->wave] = baseline_id(view);
      ++baselines;
    } else if (const auto* revert = decision.as<Revert>()) {
      ++reverts;
      restored = revert->to.fields;
      view.restore = restoring;
      if (!restoring.is_done()) return decision;
      if (operator_waits) {
        view.object = restored;
        return decision;
      }
      set_version(revert->to.revisions.at(test_set), revert->to.version);
    } else if (const auto* look = decision.as<GitCommit>();
               look != nullptr && look->step == GitStep::check) {
      ++checks;
      view.git = checked;
      view.git->version = look->version;
    } else if (const auto* commit = decision.as<GitCommit>()) {
      commits.push_back(*commit);
      view.git = answer;
      view.git->step = commit->step;
    } else if (const auto* retry = decision.as<RetryNodes>()) {
      for (RolloutNode& each : view.nodes) {
        for (const std::string& name : retry->nodes) {
          if (each.name() == name) each.state = fleet::State::required;
        }
      }
    } else if (const auto* gates = decision.as<StartGates>()) {
      for (const std::string& gate : gates->gates) {
        view.gates.push_back({gate, Outcome::running, "", false});
      }
    }
    return decision;
  }
  // Until nothing is written any more.
  std::string settle() {
    for (int i = 0; i < 50; ++i) {
      if (std::holds_alternative<std::monostate>(step().write)) break;
    }
    return phase();
  }
  std::string phase() const { return std::string(to_string(view.status.phase)); }
  // Which nodes may begin now, by wave.
  bool is_open(int wave) const {
    return !view.status.closed && view.status.open_waves > wave &&
           view.status.open_for.same_as(view.target);
  }

  RolloutView view;
  Time now = Time::from_unix(1'800'000'000);
  int reverts = 0;
  std::optional<DriverFields> restored;  // what the last of them was to set
  RestoreOutcome restoring;              // what comes of them
  bool operator_waits = false;           // the object changes, and its DaemonSet not yet
  int baselines = 0;                     // taken
  std::vector<GitCommit> commits;
  GitOutcome answer{GitStep::promote, "c0ffee", "", false};  // what git says
  GitOutcome checked{GitStep::check, "none", "", false};     // and of the rollback
  int checks = 0;

 private:
  std::map<size_t, RecordedWave> written_;
  std::map<std::string, std::string> running_;
};

}  // namespace lockstep::rollout

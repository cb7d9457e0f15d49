#include "rollout/rollout_progress.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>

#include <fmt/format.h>

#include "base/sha256.h"
#include "base/strings.h"
#include "fleet/keys.h"
#include "rollout/decide_rollout.h"
#include "upgrade/evicting.h"

namespace lockstep::rollout {

std::string revision_id(const DriverRevision& revision) {
  std::vector<std::string> parts;
  for (const auto& [set, hash] : revision.revisions) parts.push_back(set + "=" + hash);
  return join(parts, ",");
}

bool is_of_rollout(const RecordedWave& record, const RolloutStatus& status) {
  return record.revision == revision_id(status.to);
}

WaveIndex waves_of(const RolloutView& view) {
  WaveIndex waves;
  for (size_t i = 0; i < view.recorded.size(); ++i) {
    if (!view.recorded[i] || !is_of_rollout(*view.recorded[i], view.status)) continue;
    for (const std::string& name : view.recorded[i]->nodes) waves.try_emplace(name, i);
  }
  return waves;
}

namespace {

std::string_view failure_of(const RolloutNode& node) {
  return node.node->meta.annotations.get(fleet::failure_annotation);
}

// What was in the way are pods, and what protects them: anything that a tenant may have.
bool failed_before_restart(const RolloutNode& node) {
  const std::string_view failure = failure_of(node);
  // NVIDIA's controller does not say why a node failed.
  if (failure.empty()) return node.out_of_sync;
  return upgrade::is_eviction_failure(fleet::Reason::of_failure(failure).name);
}

void note_failure(const RolloutNode& node, Progress& progress) {
  ++progress.failed_in_open;
  if (!failed_before_restart(node)) {
    progress.failed_with_driver.push_back(node.name());
    return;
  }
  const std::string_view failure = failure_of(node);
  progress.blocked_names.push_back(node.name());
  progress.blocked.push_back(fmt::format(
      "{}: {}", node.name(), failure.empty() ? "its driver was not restarted" : failure));
}

}  // namespace

Progress measure_progress(const RolloutView& view) {
  using fleet::State;
  Progress progress;
  progress.waves.resize(view.spec.waves.size());
  const WaveIndex waves = waves_of(view);
  std::array<int64_t, fleet::all_states.size()> by_state{};
  const bool rolls_back = view.status.phase == Phase::rolling_back;
  // Also in Held: a rollback that failed continues with a retry of these nodes.
  const bool goes_back =
      rolls_back || (view.status.phase == Phase::held && view.status.waves_to_return > 0);
  for (const RolloutNode& node : view.nodes) {
    std::string name = node.name();
    ++by_state.at(static_cast<size_t>(node.state));
    if (!node.reason.empty()) ++progress.by_reason[node.reason];
    if (node.out_of_sync) ++progress.out_of_sync;
    // Also one whose driver pod was replaced meanwhile and is not ready: what is loaded is not
    // known.
    bool moves = node.out_of_sync || fleet::is_active(node.state) ||
                 (!node.in_sync && (node.state == State::required || rolls_back));
    if (moves && !node.skipped) ++progress.to_upgrade;
    bool returns = moves && !node.skipped && rolls_back;
    if (returns) progress.returning.push_back(name);
    if (node.out_of_sync && node.skipped) ++progress.left_out;
    bool idle = node.state == State::done || node.state == State::unknown;
    if (node.out_of_sync && idle && !node.skipped) ++progress.unaware;
    auto at = waves.find(name);
    size_t index = at == waves.end() ? progress.waves.size() - 1 : at->second;
    if (index >= progress.waves.size()) continue;
    WaveProgress& wave = progress.waves[index];
    ++wave.nodes;
    if (node.state == State::failed && !node.old_failure) {
      ++wave.failed;
      wave.failed_nodes.push_back(name);
      const bool is_open = static_cast<int64_t>(index) < view.status.open_waves;
      ++progress.failed;
      if (is_open) note_failure(node, progress);
      if (is_open || goes_back) progress.failed_names.push_back(name);
    } else if (node.state == State::done && node.in_sync) {
      ++wave.done;
    } else if (node.skipped) {
      ++wave.skipped;
    } else {
      ++wave.pending;
    }
  }
  for (State state : fleet::all_states) {
    int64_t nodes = by_state.at(static_cast<size_t>(state));
    if (nodes > 0) progress.by_state[std::string(fleet::display_name(state))] += nodes;
  }
  return progress;
}

std::string upgrade_names(const std::vector<std::string>& names) {
  constexpr size_t most = 5;
  std::vector<std::string> sorted = names;
  std::sort(sorted.begin(), sorted.end(), natural_less);
  if (sorted.size() <= most) return join(sorted, ", ");
  size_t more = sorted.size() - most;
  sorted.resize(most);
  return fmt::format("{} and {} more", join(sorted, ", "), more);
}

namespace {

// Failed before Inconclusive before Running before Passed: one bad gate decides at once.
int rank_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::failed:
      return 4;
    case Outcome::error:
      return 3;
    case Outcome::inconclusive:
      return 2;
    case Outcome::running:
      return 1;
    case Outcome::passed:
      return 0;
  }
  return 0;
}

}  // namespace

GateSummary summarize_gates(const WaveSpec& wave, const std::vector<Verdict>& gates) {
  GateSummary summary;
  std::map<int, std::vector<std::string>, std::greater<>> parts;  // the worst first
  for (const GateSpec& gate : wave.gates) {
    auto at = std::find_if(gates.begin(), gates.end(),
                           [&](const Verdict& verdict) { return verdict.name == gate.name; });
    if (at == gates.end()) {
      summary.missing.push_back(gate.name);
      continue;
    }
    parts[gate.dry_run ? -1 : rank_of(at->outcome)].push_back(
        fmt::format("{}{}: {}{}{}", gate.name, gate.dry_run ? " (dry run)" : "",
                    to_string(at->outcome), at->text.empty() ? "" : ", ", at->text));
    // What only shows its verdict is waited for, and decides nothing.
    bool decides = !gate.dry_run || at->outcome == Outcome::running;
    if (decides && rank_of(at->outcome) >= rank_of(summary.outcome)) summary.outcome = at->outcome;
  }
  std::vector<std::string> all;
  for (auto& [rank, texts] : parts) all.insert(all.end(), texts.begin(), texts.end());
  summary.text = join(all, "; ");
  return summary;
}

std::optional<Command> Command::parse(std::string_view annotation) {
  auto json = parse_json(annotation);
  if (!json || !json->is_object()) return std::nullopt;
  Command command;
  command.verb = std::string(text_at(*json, "verb"));
  command.wave = std::string(text_at(*json, "wave"));
  command.by = std::string(text_at(*json, "by"));
  command.force = as_bool(find(*json, "force"));
  if (auto at = parse_rfc3339(text_at(*json, "at"))) command.at = *at;
  // It is remembered in the status as a whole.
  constexpr size_t longest = 300;
  command.text = annotation.size() <= longest ? std::string(annotation) : sha256_hex(annotation);
  if (command.verb.empty()) return std::nullopt;
  return command;
}

std::optional<Command> Command::of(const Json& rollout) {
  auto annotation = [&](std::string_view key) {
    return text_at(rollout, "metadata", "annotations", key);
  };
  std::optional<Command> command = parse(annotation(command_annotation));
  if (!command) return std::nullopt;
  // Before there was the second annotation, the first one named the user.
  if (std::string_view by = annotation(command_by_annotation); !by.empty()) command->by = by;
  for (std::string_view group : split(annotation(command_groups_annotation), '\n')) {
    if (!group.empty()) command->groups.emplace_back(group);
  }
  return command;
}

Json Command::to_json() const {
  JsonObject json{{"verb", verb}, {"by", by}, {"at", format_rfc3339(at)}};
  if (!wave.empty()) json["wave"] = wave;
  if (force) json["force"] = true;
  return json;
}

}  // namespace lockstep::rollout

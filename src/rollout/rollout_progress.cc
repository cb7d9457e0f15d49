#include "rollout/rollout_progress.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "rollout/decide_rollout.h"

namespace lockstep::rollout {

std::string revision_id(const DriverRevision& revision) {
  std::vector<std::string> parts;
  for (const auto& [set, hash] : revision.revisions) parts.push_back(set + "=" + hash);
  return join(parts, ",");
}

std::map<std::string, size_t> waves_of(const RolloutView& view) {
  std::map<std::string, size_t> waves;
  for (size_t i = 0; i < view.recorded.size(); ++i) {
    if (!view.recorded[i]) continue;
    for (const std::string& name : view.recorded[i]->nodes) waves.try_emplace(name, i);
  }
  return waves;
}

Progress measure_progress(const RolloutView& view) {
  using fleet::State;
  Progress progress;
  progress.waves.resize(view.spec.waves.size());
  std::map<std::string, size_t> waves = waves_of(view);
  for (const RolloutNode& node : view.nodes) {
    std::string name = node.name();
    ++progress.by_state[std::string(fleet::display_name(node.state))];
    if (!node.reason.empty()) ++progress.by_reason[node.reason];
    if (node.out_of_sync) ++progress.out_of_sync;
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
      if (static_cast<int64_t>(index) < view.status.open_waves) {
        ++progress.failed_in_open;
        progress.failed_names.push_back(name);
      }
    } else if (node.state == State::done && node.in_sync) {
      ++wave.done;
    } else if (node.skipped) {
      ++wave.skipped;
    } else {
      ++wave.pending;
    }
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

GateSummary summarize_gates(const WaveSpec& wave, const std::vector<Verdict>& gates) {
  GateSummary summary;
  std::vector<std::string> parts;
  auto worse = [](Outcome a, Outcome b) {
    // Failed before Inconclusive before Running before Passed: one bad gate decides at once.
    auto rank = [](Outcome outcome) {
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
    };
    return rank(a) >= rank(b) ? a : b;
  };
  for (const GateSpec& gate : wave.gates) {
    auto at = std::find_if(gates.begin(), gates.end(),
                           [&](const Verdict& verdict) { return verdict.name == gate.name; });
    if (at == gates.end()) {
      summary.missing.push_back(gate.name);
      continue;
    }
    parts.push_back(fmt::format("{}{}: {}{}{}", gate.name, gate.dry_run ? " (dry run)" : "",
                                to_string(at->outcome), at->text.empty() ? "" : ", ", at->text));
    if (!gate.dry_run) summary.outcome = worse(summary.outcome, at->outcome);
  }
  summary.text = join(parts, "; ");
  return summary;
}

std::optional<Command> Command::parse(std::string_view annotation) {
  auto json = parse_json(annotation);
  if (!json || !json->is_object()) return std::nullopt;
  Command command;
  command.verb = std::string(text_at(*json, "verb"));
  command.wave = std::string(text_at(*json, "wave"));
  command.by = std::string(text_at(*json, "by"));
  if (auto at = parse_rfc3339(text_at(*json, "at"))) command.at = *at;
  command.text = std::string(annotation);
  if (command.verb.empty()) return std::nullopt;
  return command;
}

Json Command::to_json() const {
  JsonObject json{{"verb", verb}, {"by", by}, {"at", format_rfc3339(at)}};
  if (!wave.empty()) json["wave"] = wave;
  return json;
}

}  // namespace lockstep::rollout

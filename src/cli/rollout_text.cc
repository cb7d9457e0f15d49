#include "cli/rollout_text.h"

#include <algorithm>

#include <fmt/format.h>

#include "rollout/headline.h"
#include "rollout/rollout_spec.h"
#include "rollout/rollout_status.h"
#include "world/terminal_text.h"

namespace lockstep::cli {

namespace {

std::string age_of(const Json& object, Time now) {
  auto created = parse_rfc3339(text_at(object, "metadata", "creationTimestamp"));
  return created ? human_duration(now - *created) : "";
}

int64_t done_of(const rollout::RolloutStatus& status) {
  int64_t done = 0;
  for (const auto& wave : status.waves) done += wave.done;
  return done;
}

std::string wave_text(const rollout::RolloutSpec& spec, const rollout::RolloutStatus& status,
                      size_t index) {
  const rollout::WaveStatus& wave = status.waves[index];
  std::string asks = index < spec.waves.size() ? spec.waves[index].nodes.text() : "";
  std::string text = fmt::format("  {:<16} {:<18} {:>4}/{:<5} {}\n", wave.name,
                                 rollout::wave_state(status, index), wave.done, wave.nodes, asks);
  auto line = [&](std::string_view what, const std::string& value) {
    if (!value.empty()) text += fmt::format("      {}: {}\n", what, value);
  };
  for (const rollout::Verdict& gate : wave.gates) {
    line(fmt::format("gate {}{}", gate.name, gate.dry_run ? " (dry run)" : ""),
         fmt::format("{} {}", to_string(gate.outcome), gate.text));
  }
  line("bake", wave.bake);
  line("could have found", wave.detectable);
  line("verdict", wave.verdict_text);
  if (!wave.approved_by.empty()) {
    line("approved by",
         fmt::format("{} at {}", wave.approved_by, format_rfc3339(wave.approved_at)));
  }
  return text;
}

}  // namespace

std::string rollout_table(const std::vector<Document>& rollouts, Time now) {
  if (rollouts.empty()) return "no rollouts\n";
  std::string text = fmt::format("{:<24} {:<17} {:<16} {:<11} {:<20} AGE\n", "NAME", "PHASE",
                                 "WAVE", "DONE", "REASON");
  for (const Document& rollout : rollouts) {
    rollout::RolloutStatus status = rollout::read_rollout_status(*rollout);
    text += fmt::format(
        "{:<24} {:<17} {:<16} {:<11} {:<20} {}\n", text_at(*rollout, "metadata", "name"),
        to_string(status.phase), text_at(*rollout, "status", "wave"),
        fmt::format("{}/{}", done_of(status), status.total), status.reason, age_of(*rollout, now));
  }
  return text;
}

std::string rollout_text(const Json& rollout, Time now) {
  rollout::RolloutSpec spec = rollout::read_rollout_spec(rollout);
  rollout::RolloutStatus status = rollout::read_rollout_status(rollout);
  std::string text =
      fmt::format("{}  {}", text_at(rollout, "metadata", "name"), to_string(status.phase));
  if (status.phase_since.is_set()) {
    text += fmt::format(" for {}", human_duration(now - status.phase_since));
  }
  if (spec.paused) text += "  (paused)";
  text += "\n";
  if (!status.to.version.empty()) {
    const rollout::Direction direction = rollout::direction_of(status);
    text += fmt::format("  {} -> {}\n", direction.from, direction.to);
  }
  if (!status.reason.empty()) {
    text += fmt::format("  {}: {}\n", status.reason, one_line(status.message));
  }
  for (const std::string& problem : spec.problems)
    text += fmt::format("  wrong: {}\n", one_line(problem));
  for (size_t i = 0; i < status.waves.size(); ++i) text += wave_text(spec, status, i);
  if (!status.by_reason.empty()) {
    text += "  waiting or failed:";
    for (const auto& [reason, count] : status.by_reason) {
      text += fmt::format(" {} {}", count, reason);
    }
    text += "\n";
  }
  return text;
}

std::string rollout_history(const Json& rollout) {
  std::string text;
  for (const rollout::HistoryEntry& entry : rollout::read_rollout_status(rollout).history) {
    text += fmt::format("{}  {:<17} {:<12} {}: {}{}\n", format_rfc3339(entry.at),
                        to_string(entry.phase), entry.wave, entry.reason, one_line(entry.text),
                        entry.by.empty() ? "" : fmt::format(" (by {})", one_line(entry.by)));
  }
  return text.empty() ? "nothing has been decided yet\n" : text;
}

Json rollout_history_json(const Json& rollout) {
  const Json* history = find(rollout, "status", "history");
  return history == nullptr ? Json(JsonArray{}) : *history;
}

}  // namespace lockstep::cli

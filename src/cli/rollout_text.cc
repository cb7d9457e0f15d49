#include "cli/rollout_text.h"

#include <algorithm>

#include <fmt/format.h>

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

std::string wave_text(const operate::WaveReport& report) {
  const rollout::WaveStatus& wave = report.status;
  std::string text =
      fmt::format("  {:<16} {:<18} {:>4}/{:<5} {}\n", wave.name, report.state, wave.done,
                  wave.nodes, report.asked ? report.asked->nodes.text() : "");
  auto line = [&](std::string_view what, const std::string& value) {
    if (!value.empty()) text += fmt::format("      {}: {}\n", what, value);
  };
  for (const rollout::Verdict& gate : wave.gates) text += "      " + gate_text(gate) + "\n";
  line("bake", wave.bake);
  line("detectable effect", wave.detectable);
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
    text += fmt::format("{:<24} {:<17} {:<16} {:<11} {:<20} {}\n",
                        text_at(*rollout, "metadata", "name"), to_string(status.phase),
                        text_at(*rollout, "status", "wave"),
                        fmt::format("{}/{}", done_of(status), status.total), status.reason.view(),
                        age_of(*rollout, now));
  }
  return text;
}

std::string gate_text(const rollout::Verdict& gate) {
  return fmt::format("gate {}{}: {} {}", gate.name, gate.dry_run ? " (dry run)" : "",
                     to_string(gate.outcome), gate.text);
}

std::string rollout_head(const operate::RolloutReport& rollout, Time now) {
  const rollout::RolloutStatus& status = rollout.status;
  std::string head = fmt::format("{}  {}", rollout.name, to_string(status.phase));
  if (status.phase_since.is_set()) {
    head += fmt::format(" for {}", human_duration(now - status.phase_since));
  }
  if (rollout.spec.paused) head += "  (paused)";
  return head;
}

std::string rollout_text(const Json& object, Time now) {
  const operate::RolloutReport rollout = operate::report_rollout(
      std::string(text_at(object, "metadata", "name")), rollout::read_rollout_spec(object),
      rollout::read_rollout_status(object), {});
  const rollout::RolloutStatus& status = rollout.status;
  std::string text = rollout_head(rollout, now) + "\n";
  if (!status.to.version.empty()) {
    text += fmt::format("  {} -> {}\n", rollout.direction.from, rollout.direction.to);
  }
  if (!status.reason.empty()) {
    text += fmt::format("  {}: {}\n", status.reason.view(), one_line(status.message));
  }
  for (const std::string& problem : rollout.spec.problems) {
    text += fmt::format("  wrong: {}\n", one_line(problem));
  }
  for (size_t i = 0; i < status.waves.size(); ++i) text += wave_text(rollout.waves[i]);
  if (!status.by_reason.empty()) {
    text += "  waiting or failed:";
    for (const auto& [reason, count] : status.by_reason) {
      text += fmt::format(" {} {}", count, reason.view());
    }
    text += "\n";
  }
  return text;
}

std::string rollout_history(const Json& rollout) {
  std::string text;
  for (const rollout::HistoryEntry& entry : rollout::read_rollout_status(rollout).history) {
    text +=
        fmt::format("{}  {:<17} {:<12} {}: {}{}\n", format_rfc3339(entry.at),
                    to_string(entry.phase), entry.wave, entry.reason.view(), one_line(entry.text),
                    entry.by.empty() ? "" : fmt::format(" (by {})", one_line(entry.by)));
  }
  return text.empty() ? "no decision yet\n" : text;
}

Json rollout_history_json(const Json& rollout) {
  const Json* history = find(rollout, "status", "history");
  return history == nullptr ? Json(JsonArray{}) : *history;
}

}  // namespace lockstep::cli

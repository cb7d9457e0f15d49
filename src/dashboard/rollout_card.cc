#include "dashboard/rollout_card.h"

#include <algorithm>
#include <cmath>

namespace lockstep::dashboard {

namespace {

// Pages show no more of the past than this.
constexpr size_t most_history = 12;

Json time_of(Time time) {
  return time.is_set() ? Json(time.unix_nanoseconds / 1'000'000) : Json(nullptr);
}

// Few enough digits that what has hardly changed is the same text.
double rounded(double number) {
  constexpr double places = 100;
  return std::isfinite(number) ? std::round(number * places) / places : 0;
}

JsonObject bake_card(const operate::WaveReport& report) {
  const rollout::BakeSpec& spec = *report.asked->bake;
  const rollout::WaveStatus& wave = report.status;
  const auto& seen = report.bake;
  JsonObject card{{"seconds", 0},
                  {"targetSeconds", in_seconds(spec.duration)},
                  {"longestSeconds", in_seconds(spec.max_duration)},
                  {"gpuHours", 0},
                  {"targetGpuHours", seen ? seen->min_gpu_hours : spec.min_gpu_hours.value_or(0)},
                  {"began", time_of(wave.bake_began)},
                  {"runs", report.is_baking},
                  {"text", wave.bake},
                  {"detectable", wave.detectable}};
  if (!seen) return card;
  card["seconds"] = std::floor(in_seconds(seen->passed));
  card["gpuHours"] = rounded(seen->gpu_hours);
  card["controlGpuHours"] = rounded(seen->control_gpu_hours);
  card["evidence"] = rounded(seen->evidence);
  card["limit"] = rounded(seen->limit);
  card["outcome"] = to_string(seen->outcome);
  if (report.left) card["secondsLeft"] = std::floor(in_seconds(*report.left));
  if (wave.bake.empty()) card["text"] = seen->text;
  if (wave.detectable.empty()) card["detectable"] = seen->detectable;
  JsonArray kinds;
  for (const rollout::KindEvidence& kind : seen->kinds) {
    kinds.push_back(JsonObject{{"kind", kind.kind},
                               {"upgraded", kind.upgraded_events},
                               {"control", kind.control_events},
                               {"evidence", rounded(kind.evidence)}});
  }
  card["kinds"] = std::move(kinds);
  return card;
}

JsonObject wave_card(const operate::WaveReport& report) {
  const rollout::WaveStatus& wave = report.status;
  JsonArray gates;
  for (const rollout::Verdict& gate : wave.gates) {
    gates.push_back(JsonObject{{"name", gate.name},
                               {"outcome", to_string(gate.outcome)},
                               {"text", gate.text},
                               {"dryRun", gate.dry_run}});
  }
  JsonObject card{{"name", wave.name},
                  {"state", report.state},
                  {"nodes", wave.nodes},
                  {"done", wave.done},
                  {"failed", wave.failed},
                  {"opened", time_of(wave.opened)},
                  {"verdict", to_string(wave.verdict)},
                  {"verdictText", wave.verdict_text},
                  {"gates", std::move(gates)},
                  {"approvedBy", wave.approved_by},
                  {"approvedAt", time_of(wave.approved_at)}};
  if (!report.asked) return card;
  card["asks"] = report.asked->nodes.text();
  card["needsApproval"] =
      report.asked->needs_approval && (!wave.approved_by.empty() || report.needs_approval);
  JsonArray planned;
  for (const rollout::GateSpec& gate : report.asked->gates) planned.emplace_back(gate.name);
  card["plannedGates"] = std::move(planned);
  if (report.asked->bake) card["bake"] = bake_card(report);
  return card;
}

JsonArray history_of(const rollout::RolloutStatus& status) {
  JsonArray history;
  size_t first = status.history.size() - std::min(status.history.size(), most_history);
  for (size_t i = first; i < status.history.size(); ++i) {
    const rollout::HistoryEntry& entry = status.history[i];
    history.push_back(JsonObject{{"at", time_of(entry.at)},
                                 {"phase", to_string(entry.phase)},
                                 {"wave", entry.wave},
                                 {"reason", entry.reason.view()},
                                 {"text", entry.text},
                                 {"by", entry.by}});
  }
  return history;
}

}  // namespace

Json rollout_card(const operate::RolloutReport& rollout) {
  const rollout::RolloutSpec& spec = rollout.spec;
  const rollout::RolloutStatus& status = rollout.status;
  JsonArray waves;
  for (const operate::WaveReport& wave : rollout.waves) waves.push_back(wave_card(wave));
  JsonArray problems;
  for (const std::string& problem : spec.problems) problems.emplace_back(problem);
  return JsonObject{
      {"name", rollout.name},
      {"phase", to_string(status.phase)},
      {"since", time_of(status.phase_since)},
      {"over", rollout::is_over(status.phase)},
      {"started", time_of(status.started)},
      {"reason", status.reason.view()},
      {"message", status.message},
      {"paused", spec.paused},
      {"from", rollout.direction.from},
      {"to", rollout.direction.to},
      {"total", status.total},
      {"onFailure", spec.on_failure == rollout::OnFailure::hold ? "hold" : "roll back"},
      {"problems", std::move(problems)},
      {"byReason", fleet::to_json(status.by_reason)},
      {"waves", std::move(waves)},
      {"history", history_of(status)}};
}

}  // namespace lockstep::dashboard

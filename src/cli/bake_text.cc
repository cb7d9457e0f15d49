#include "cli/bake_text.h"

#include <cstdio>

#include <fmt/format.h>

#include "cli/exit_codes.h"
#include "cli/output.h"
#include "cli/rollout_text.h"
#include "cli/status_command.h"
#include "cli/status_text.h"
#include "data/yaml.h"
#include "view/kept_bake.h"
#include "world/files.h"

namespace lockstep::cli {

std::string bake_text(const rollout::BakeRecord& record) {
  rollout::BakeVerdict verdict = record.judge();
  std::string text =
      fmt::format("{}{}{}: {}\n", to_string(verdict.outcome), verdict.reason.empty() ? "" : ", ",
                  verdict.reason.view(), verdict.text);
  text += fmt::format(
      "  {} since {}, in {} steps; {:.2f} GPU-hours after the upgrade, {:.2f} without it\n",
      human_duration(verdict.passed), format_rfc3339(record.began), record.steps.size(),
      verdict.gpu_hours, verdict.control_gpu_hours);
  text += fmt::format("  evidence {:.3g} of {:.3g}, at which it fails\n", verdict.evidence,
                      verdict.limit);
  for (const rollout::KindEvidence& kind : verdict.kinds) {
    text += fmt::format("  {}: {} after the upgrade, {} without it; evidence {:.3g}\n", kind.kind,
                        kind.upgraded_events, kind.control_events, kind.evidence);
  }
  if (!verdict.detectable.empty()) text += fmt::format("  {}\n", verdict.detectable);
  return text;
}

std::string why_rollout_text(const view::RolloutWatch& watch, const view::KnownRollout& rollout,
                             Time now) {
  std::string text = rollout_text(*rollout.object->document, now);
  for (size_t i = 0; i < rollout.spec.waves.size(); ++i) {
    auto kept = view::kept_bake(watch, rollout.name(), i);
    if (!kept) continue;
    text += fmt::format("bake of wave {}: {}", rollout.spec.waves[i].name, bake_text(kept->record));
  }
  return text + "history:\n" + rollout_history(*rollout.object->document);
}

Json why_rollout_json(const view::RolloutWatch& watch, const view::KnownRollout& rollout) {
  JsonArray bakes;
  for (size_t i = 0; i < rollout.spec.waves.size(); ++i) {
    auto kept = view::kept_bake(watch, rollout.name(), i);
    if (!kept) continue;
    bakes.push_back(JsonObject{{"wave", rollout.spec.waves[i].name},
                               {"verdict", rollout::to_json(kept->record.judge())}});
  }
  const Json* status = find(*rollout.object->document, "status");
  return JsonObject{{"name", rollout.name()},
                    {"status", status == nullptr ? Json() : *status},
                    {"bakes", std::move(bakes)}};
}

Result<rollout::BakeRecord> read_bake_file(const std::string& file) {
  LOCKSTEP_TRY(std::string text, SystemFiles().read(file));
  // What kubectl get configmap prints.
  if (auto document = parse_yaml(text, file);
      document && text_at(*document, "kind") == "ConfigMap") {
    text = std::string(text_at(*document, "data", "record"));
    if (text.empty()) return fail(ErrorKind::invalid, "it has no data.record", file);
  }
  auto record = rollout::BakeRecord::parse(text);
  if (!record) return fail(record.error().at(file));
  return record;
}

int run_replay(const std::string& file, const std::string& output) {
  auto record = read_bake_file(file);
  if (!record) return report(record.error());
  rollout::BakeVerdict verdict = record->judge();
  if (output == "table") {
    print_text(bake_text(*record));
  } else {
    print_document(rollout::to_json(verdict), output);
  }
  return verdict.outcome == rollout::BakeOutcome::failed ? ExitCode::failed : ExitCode::ok;
}

}  // namespace lockstep::cli

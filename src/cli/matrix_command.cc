#include "cli/matrix_command.h"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

#include "cli/exit_codes.h"
#include "cli/matrix_session.h"
#include "cli/output.h"
#include "cli/signals.h"
#include "cli/status_command.h"

namespace lockstep::cli {

namespace {

using rollout::Matrix;
using rollout::Slot;

std::string shown(std::string_view value) { return value.empty() ? "-" : std::string(value); }

void print_matrix(const Matrix& matrix) {
  size_t key_width = std::string_view("VERSION").size();
  size_t value_width = std::string_view("CURRENT").size();
  for (const std::string& key : matrix.keys()) {
    key_width = std::max(key_width, key.size());
    value_width = std::max(value_width, matrix.value(Slot::current, key).size());
  }
  fmt::print("{:<{}}  {:<{}}  {}\n", "VERSION", key_width, "CURRENT", value_width, "CANARY");
  for (const std::string& key : matrix.keys()) {
    print_text(fmt::format("{:<{}}  {:<{}}  {}\n", key, key_width,
                           shown(matrix.value(Slot::current, key)), value_width,
                           shown(matrix.value(Slot::canary, key))));
  }
}

std::vector<Slot> slots_to_check(const Matrix& matrix) {
  if (matrix.is_empty(Slot::canary)) return {Slot::current};
  return {Slot::current, Slot::canary};
}

}  // namespace

int run_matrix_show(const MatrixShowFlags& flags) {
  block_signals();
  const auto text = read_matrix_text(flags.place);
  if (!text) return report(text.error());
  const auto matrix = rollout::parse_matrix(text->text, text->name);
  if (!matrix) return report(matrix.error());
  if (flags.output != "table") {
    print_document(JsonObject{{"repository", text->repository},
                              {"branch", text->branch},
                              {"commit", text->commit},
                              {"path", text->name},
                              {"versions", JsonObject{{"current", json_of(matrix->current)},
                                                      {"canary", json_of(matrix->canary)}}}},
                   flags.output);
    return ExitCode::ok;
  }
  constexpr size_t short_id = 12;
  if (!text->commit.empty()) {
    print_text(fmt::format("{} of {} ({}), commit {}\n", text->name, text->repository, text->branch,
                           text->commit.substr(0, short_id)));
  }
  print_matrix(*matrix);
  return ExitCode::ok;
}

int run_matrix_check(const MatrixCheckFlags& flags) {
  block_signals();
  const auto rules = compatibility_rules(flags.fleet);
  if (!rules) return report(rules.error());
  const auto text = read_matrix_text(flags.place);
  if (!text) return report(text.error());
  const auto matrix = rollout::parse_matrix(text->text, text->name);
  if (!matrix) return report(matrix.error());

  JsonArray findings;
  bool is_broken = false;
  bool is_unknown = false;
  for (const Slot slot : slots_to_check(*matrix)) {
    for (const auto& finding : check_slot(*matrix, slot, flags.fleet, *rules)) {
      const bool breaks = finding.verdict == rollout::RuleOutcome::broken;
      (breaks ? is_broken : is_unknown) = true;
      findings.emplace_back(json_of(slot, finding));
      if (flags.output != "table") continue;
      print_text(fmt::format("{} {} {}: {}\n", breaks ? "broken " : "unknown", to_string(slot),
                             finding.rule, finding.message));
      if (!finding.source.empty()) print_text(fmt::format("        {}\n", finding.source));
    }
  }
  const bool passes = !is_broken && !(flags.strict && is_unknown);
  if (flags.output != "table") {
    print_document(JsonObject{{"compatible", passes}, {"findings", std::move(findings)}},
                   flags.output);
  } else if (passes) {
    print_text(fmt::format("{}: no rule forbids these versions{}\n", text->name,
                           is_unknown ? ", as far as they are known" : ""));
  }
  return passes ? ExitCode::ok : ExitCode::failed;
}

}  // namespace lockstep::cli

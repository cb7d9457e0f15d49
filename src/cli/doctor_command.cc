#include "cli/doctor_command.h"

#include <fmt/format.h>

#include "cli/doctor_reading.h"
#include "cli/exit_codes.h"
#include "cli/key_domain.h"
#include "cli/output.h"
#include "cli/status_command.h"
#include "cli/terminal.h"
#include "doctor/examine.h"
#include "world/terminal_text.h"

namespace lockstep::cli {

namespace {

using doctor::Check;
using doctor::Verdict;

std::string_view colour_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::fine:
      return "32";
    case Verdict::warning:
      return "33";
    case Verdict::wrong:
      return "1;31";
    case Verdict::skipped:
      break;
  }
  return "2";
}

Result<std::vector<Check>> look(const DoctorFlags& flags) {
  if (flags.node) return doctor::examine_node(read_machine(flags.root, flags.checkpoint));
  DoctorFlags found = flags;
  LOCKSTEP_TRY(const auto session,
               open_in_key_domain(found.cluster, KeyUse::read, flags.output != "table"));
  LOCKSTEP_TRY(const doctor::ClusterView view, read_cluster(*session, found));
  return doctor::examine(view);
}

}  // namespace

std::string doctor_text(const std::vector<Check>& checks, const Terminal& terminal) {
  constexpr size_t most_evidence = 10;
  std::string text;
  for (const Check& check : checks) {
    std::string verdict = terminal.paint(fmt::format("{:<8}", doctor::to_string(check.verdict)),
                                         colour_of(check.verdict));
    text += fmt::format("{}  {:<21} {}\n", verdict, check.name, one_line(check.text));
    if (check.verdict == Verdict::fine) continue;
    for (size_t i = 0; i < check.evidence.size() && i < most_evidence; ++i) {
      text += fmt::format("{:31} - {}\n", "", one_line(check.evidence[i]));
    }
    if (check.evidence.size() > most_evidence) {
      text += fmt::format("{:31} - and {} more (-o json has all)\n", "",
                          check.evidence.size() - most_evidence);
    }
    if (!check.fix.empty()) text += fmt::format("{:31} fix: {}\n", "", one_line(check.fix));
  }
  return text;
}

int run_doctor(const DoctorFlags& flags) {
  auto checks = look(flags);
  if (!checks) return report(checks.error());
  if (flags.output == "table") {
    print_text(doctor_text(*checks, Terminal::of_output()));
  } else {
    print_document(doctor::to_json(*checks), flags.output);
  }
  return doctor::is_anything_wrong(*checks, flags.strict) ? ExitCode::failed : ExitCode::ok;
}

}  // namespace lockstep::cli

#include "cli/plan_command.h"

#include <cstdio>
#include <utility>

#include <fmt/format.h>

#include "cli/exit_codes.h"
#include "cli/key_domain.h"
#include "cli/output.h"
#include "cli/plan_text.h"
#include "cli/status_command.h"
#include "controller/matrix_log.h"

namespace lockstep::cli {

int run_plan(const PlanFlags& flags) {
  auto allowed = git::AllowedRepositories::read(flags.git_repositories, git::Local::accepted);
  if (!allowed) return report(allowed.error().at("--git-repository"));
  auto fleet = open_fleet(flags.cluster, flags.output != "table");
  if (!fleet) return report(fleet.error());
  controller::MatrixLogOptions git;
  git.environment = git::users_environment(system_environment());
  git.allowed = std::move(*allowed);
  git.entries = 1;
  controller::MatrixLog log(fleet->session->loop, std::move(git));
  auto read = [&](const rollout::MatrixPlace& place) -> Result<rollout::Matrix> {
    LOCKSTEP_TRY(rollout::MatrixReport found, log.read_now(place));
    return std::move(found.matrix);
  };
  const operate::PlanAnswer answer =
      operate::make_plan(*fleet->watch, fleet->now(), flags.asked, read);
  if (flags.output == "table") {
    print_text(plan_text(answer));
  } else {
    print_document(operate::to_json(answer), flags.output);
  }
  return ExitCode::ok;
}

}  // namespace lockstep::cli

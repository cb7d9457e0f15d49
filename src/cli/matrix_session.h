// What the commands about the version matrix share: the repository, and the rules of compatibility.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/interruptible_processes.h"
#include "cli/matrix_command.h"
#include "data/json.h"
#include "git/clone.h"
#include "rollout/compatibility_check.h"

namespace lockstep::cli {

// A clone of the repository that the flags name. Gone with the session, and when a signal comes.
class MatrixSession {
 public:
  // `changes`: the user's own copy of the file must then have none that are not committed.
  static Result<std::unique_ptr<MatrixSession>> open(const MatrixPlace& place, bool changes);

  git::Clone& clone() { return *clone_; }
  // For display: without passwords.
  const std::string& address() const { return address_; }

 private:
  MatrixSession();

  InterruptibleProcesses processes_;
  git::Program program_;
  std::unique_ptr<git::Clone> clone_;
  std::string address_;
};

struct MatrixText {
  std::string text;
  std::string name;        // for places in errors
  std::string repository;  // these are empty for a file of this machine
  std::string branch;
  std::string commit;
};
Result<MatrixText> read_matrix_text(const MatrixPlace& place);

// The built-in rules, or those of --rules.
Result<rollout::Compatibility> compatibility_rules(const MatrixFleet& fleet);

std::vector<rollout::CompatibilityFinding> check_slot(const rollout::Matrix& matrix,
                                                      rollout::Slot slot, const MatrixFleet& fleet,
                                                      const rollout::Compatibility& rules);

JsonObject json_of(const rollout::MatrixEntries& entries);
JsonObject json_of(rollout::Slot slot, const rollout::CompatibilityFinding& finding);

}  // namespace lockstep::cli

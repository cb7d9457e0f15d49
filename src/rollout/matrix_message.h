// The messages of the matrix's commits: what changed, why it may, and who approved it. Git is the
// memory: a reader of the log must find the evidence a year later.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rollout/matrix_file.h"

namespace lockstep::rollout {

struct Evidence {
  // One line each: "gate training: Passed, 8 GPUs, 0.99 of baseline", "bake: 48h, 312 GPU-hours".
  std::vector<std::string> lines = {};
  std::string approved_by = {};
  std::string rollout = {};  // the DriverRollout that asks for it
  std::string reason = {};   // why, in words
};

std::string set_message(const std::vector<MatrixChange>& changes, const Evidence& evidence);
std::string promote_message(const std::vector<MatrixChange>& changes, const Evidence& evidence);
// `commit` and `subject` are of the commit that is reverted.
std::string revert_message(std::string_view commit, std::string_view subject,
                           const std::vector<MatrixChange>& changes, const Evidence& evidence);

// Of several at once, the newest first.
struct TakenBack {
  std::string commit;
  std::string subject;
};
std::string revert_message(const std::vector<TakenBack>& commits,
                           const std::vector<MatrixChange>& changes, const Evidence& evidence);

// The commit that this message says it reverts; empty if the message is not a revert's.
std::string reverted_commit(std::string_view message);
// All of them.
std::vector<std::string> reverted_commits(std::string_view message);

// The first line.
std::string_view subject_of(std::string_view message);

}  // namespace lockstep::rollout

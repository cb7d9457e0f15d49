#include "rollout/matrix_history.h"

#include <algorithm>

#include <fmt/format.h>

#include "rollout/matrix_message.h"

namespace lockstep::rollout {

namespace {

Matrix matrix_or_nothing(const std::string& text) {
  auto matrix = parse_matrix(text, "matrix");
  return matrix ? std::move(*matrix) : Matrix{};
}

bool is_version(const MatrixChange& change) { return change.key != "status"; }

bool brings(const std::vector<MatrixChange>& changes, std::string_view version) {
  return std::any_of(changes.begin(), changes.end(), [&](const MatrixChange& change) {
    return is_version(change) && (version.empty() || change.after == version);
  });
}

constexpr size_t short_id = 12;

}  // namespace

std::vector<MatrixChange> changes_of(const MatrixTexts& texts) {
  return changes_between(matrix_or_nothing(texts.before), matrix_or_nothing(texts.after));
}

Result<BringingCommit> find_bringing_commit(const std::vector<MatrixCommit>& commits,
                                            const ReadTexts& read, std::string_view version) {
  for (const MatrixCommit& commit : commits) {
    LOCKSTEP_TRY(const MatrixTexts texts, read(commit));
    std::vector<MatrixChange> changes = changes_of(texts);
    if (!brings(changes, version)) continue;
    const std::string taken_back = reverted_commit(commit.message);
    if (version.empty() && !taken_back.empty()) {
      return fail(ErrorKind::conflict,
                  fmt::format("the last change is a revert already, of {}; name what else to take "
                              "back by --version or --commit",
                              taken_back.substr(0, short_id)),
                  fmt::format("commit {}", commit.id.substr(0, short_id)));
    }
    return BringingCommit{commit, std::move(changes)};
  }
  if (version.empty()) {
    return fail(ErrorKind::not_found, "no commit of the branch changed a version");
  }
  return failf(ErrorKind::not_found, "no commit of the branch brought the version {}", version);
}

}  // namespace lockstep::rollout

#include "rollout/matrix_history.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "rollout/matrix_edit.h"
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
                  fmt::format("the newest change is already a revert, of {}: nothing to revert. To "
                              "remove another version: --version or --commit",
                              taken_back.substr(0, short_id)),
                  fmt::format("commit {}", commit.id.substr(0, short_id)));
    }
    return BringingCommit{commit, std::move(changes)};
  }
  if (version.empty()) {
    return fail(ErrorKind::not_found, "no commit of the branch changed a version");
  }
  return failf(ErrorKind::not_found, "no commit of the branch introduced the version {}", version);
}

std::optional<KeyVersion> find_version(const Matrix& matrix, std::string_view version) {
  std::vector<std::string> keys = matrix.keys();
  std::stable_partition(keys.begin(), keys.end(),
                        [](const std::string& key) { return key == "driver"; });
  for (const std::string& key : keys) {
    KeyVersion found{key, std::string(version)};
    if (key != "status" && found.is_in(matrix)) return found;
  }
  return std::nullopt;
}

std::optional<KeyVersion> promoted_version(const std::vector<MatrixChange>& changes) {
  std::optional<KeyVersion> found;
  for (const MatrixChange& change : changes) {
    const bool brought =
        change.slot == Slot::current && is_version(change) && !change.after.empty();
    if (brought && (!found || change.key == "driver")) found = {change.key, change.after};
  }
  return found;
}

Result<BringingCommit> find_commit_to_revert(const Matrix& matrix,
                                             const std::vector<MatrixCommit>& commits,
                                             const ReadTexts& read, const KeyVersion& rejected) {
  const Slot slot = rejected.is_in(matrix, Slot::current) ? Slot::current : Slot::canary;
  std::set<std::string> undone;
  for (const MatrixCommit& commit : commits) {
    if (undone.contains(commit.id)) continue;
    const std::vector<std::string> reverted = reverted_commits(commit.message);
    undone.insert(reverted.begin(), reverted.end());
    if (!reverted.empty()) continue;
    LOCKSTEP_TRY(const MatrixTexts texts, read(commit));
    std::vector<MatrixChange> changes = changes_of(texts);
    const bool found = std::any_of(changes.begin(), changes.end(), [&](const MatrixChange& change) {
      return change.slot == slot && change.key == rejected.key && change.after == rejected.version;
    });
    if (found) return BringingCommit{commit, std::move(changes)};
  }
  return failf(ErrorKind::not_found,
               "{} is {} {}, and no commit of the branch introduced it: edit the file manually",
               rejected.version, to_string(slot), rejected.key);
}

Result<std::string> take_out(std::string_view text, std::string_view name,
                             const KeyVersion& rejected) {
  LOCKSTEP_TRY(const Matrix matrix, parse_matrix(text, name));
  if (rejected.is_in(matrix, Slot::current)) {
    return fail(ErrorKind::conflict,
                fmt::format("{} {} would still be current after the revert: edit the file manually",
                            rejected.key, rejected.version),
                std::string(name));
  }
  if (!rejected.is_in(matrix, Slot::canary)) return std::string(text);
  LOCKSTEP_TRY(MatrixEdit edit, empty_canary(text, name));
  return std::move(edit.text);
}

}  // namespace lockstep::rollout

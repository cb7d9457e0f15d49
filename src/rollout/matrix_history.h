// Which commit to revert: the one that brought a version.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "rollout/matrix_file.h"

namespace lockstep::rollout {

// A commit that touched the matrix, the newest first.
struct MatrixCommit {
  std::string id;
  std::string message;
};

// The file before and after a commit; empty where it was not there.
struct MatrixTexts {
  std::string before;
  std::string after;
};
// Read one by one: most often the first is the one.
using ReadTexts = std::function<Result<MatrixTexts>(const MatrixCommit& commit)>;

struct BringingCommit {
  MatrixCommit commit;
  std::vector<MatrixChange> changes;  // that it made
};

// The newest commit that brought `version` to any key of either slot; with an empty version, the
// newest that changed any version at all. That one must not be a revert: reverting it would restore
// a version that a user removed, and only a user who names the version can mean that.
Result<BringingCommit> find_bringing_commit(const std::vector<MatrixCommit>& commits,
                                            const ReadTexts& read, std::string_view version);

// A version as one key of the matrix has it: driver, 570.172.08.
struct KeyVersion {
  std::string key;
  std::string version;

  bool is_in(const Matrix& matrix, Slot slot) const { return matrix.value(slot, key) == version; }
  bool is_in(const Matrix& matrix) const {
    return is_in(matrix, Slot::current) || is_in(matrix, Slot::canary);
  }
};

// Which key of either slot has this version, the driver first; nothing: none.
std::optional<KeyVersion> find_version(const Matrix& matrix, std::string_view version);

// The version that a commit brought to `current`, the driver first; nothing: it brought none there.
std::optional<KeyVersion> promoted_version(const std::vector<MatrixChange>& changes);

// The commit whose revert takes the version out of `current`, or where current does not have it,
// out of the canary. Never a revert, and no commit that was reverted: that would bring it back.
Result<BringingCommit> find_commit_to_revert(const Matrix& matrix,
                                             const std::vector<MatrixCommit>& commits,
                                             const ReadTexts& read, const KeyVersion& rejected);

// The matrix after that revert, without the version in either slot: the canary from which it was
// promoted is back by then, and is emptied. A conflict where current still has the version.
Result<std::string> take_out(std::string_view text, std::string_view name,
                             const KeyVersion& rejected);

// What a commit changed. A file that cannot be read as a matrix counts as an empty one.
std::vector<MatrixChange> changes_of(const MatrixTexts& texts);

}  // namespace lockstep::rollout

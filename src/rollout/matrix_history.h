// Which commit to take back: the one that brought a version.
#pragma once

#include <functional>
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
// newest that changed any version at all. That one must be no revert: reverting it would bring back
// what somebody has taken away, and only a person who names the version can mean that.
Result<BringingCommit> find_bringing_commit(const std::vector<MatrixCommit>& commits,
                                            const ReadTexts& read, std::string_view version);

// What a commit changed. A file that cannot be read as a matrix counts as an empty one.
std::vector<MatrixChange> changes_of(const MatrixTexts& texts);

}  // namespace lockstep::rollout

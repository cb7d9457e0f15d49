// The version matrix and its history, for users: what it says now, and who moved which version
// when, from the log of its file in Git.
#pragma once

#include <string>
#include <vector>

#include "base/time.h"
#include "rollout/matrix_file.h"

namespace lockstep::rollout {

// One commit that touched the file.
struct MatrixEntry {
  std::string commit;
  std::string author;
  Time at;
  std::string message;
  std::vector<std::string> takes_back;  // commits, where it is a revert
  std::vector<MatrixChange> changes;

  bool operator==(const MatrixEntry&) const = default;
};

struct MatrixReport {
  std::string repository;  // without passwords
  std::string branch;
  std::string path;
  std::string commit;  // the head of the branch
  Matrix matrix;
  std::vector<MatrixEntry> entries;  // the newest first
  bool has_older = false;            // entries that are left out
};

}  // namespace lockstep::rollout

// Changes of the version matrix, in place: comments, order, quotes and line ends of everything else
// stay, so that a promotion is a diff of the changed lines.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "rollout/matrix_file.h"

namespace lockstep::rollout {

struct MatrixEdit {
  std::string text;
  std::vector<MatrixChange> changes;
};

// New values for keys of one slot. A canary that begins gets the status "testing". A key must be
// one of the format or exist in the slot already.
Result<MatrixEdit> set_versions(std::string_view text, std::string_view name, Slot slot,
                                const MatrixEntries& values);

// The canary becomes current, with the status "production", and is emptied. What the canary leaves
// empty stays as it is in current.
Result<MatrixEdit> promote_canary(std::string_view text, std::string_view name);

// Nothing is being tried any more: the manifest that follows the canary falls back to current.
Result<MatrixEdit> empty_canary(std::string_view text, std::string_view name);

// KEY=VALUE, as users write it on the command line.
Result<std::pair<std::string, std::string>> parse_assignment(std::string_view text);

}  // namespace lockstep::rollout

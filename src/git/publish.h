// From a change to a pushed commit: staged, committed, pushed. If another user pushes meanwhile,
// all of it is done again on the new state.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "git/clone.h"

namespace lockstep::git {

struct PublishOptions {
  int tries = 5;
  bool dry_run = false;  // as far as the diff
};

struct Published {
  std::string commit;  // empty: there was nothing to change, or it was a dry run
  std::string diff;
  int tries = 0;
};

// Stages a change in the clone as it is now, and returns the commit's message. Called again each
// time that another user pushed first.
using Stage = std::function<Result<std::string>(Clone& clone)>;

Result<Published> publish(Clone& clone, const Stage& stage, const PublishOptions& options = {});

}  // namespace lockstep::git

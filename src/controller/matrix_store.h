// The version matrix in Git, as the loop of the rollouts needs it: it promotes the canary's
// versions, or reverts the commit that brought a version. git_matrix uses real Git; the simulator
// has its own matrix in memory.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "rollout/matrix_message.h"
#include "rollout/rollout_spec.h"
#include "rollout/rollout_view.h"

namespace lockstep::controller {

struct MatrixCommit {
  rollout::GitStep step = rollout::GitStep::promote;
  rollout::MatrixPlace place;
  std::string version;  // of the driver
  rollout::Evidence evidence;
};

class MatrixStore {
 public:
  virtual ~MatrixStore() = default;
  // Why this rollout's repository may not be used at all; empty: it may.
  virtual std::string refusal(const rollout::RolloutSpec&) const { return {}; }
  // Why it cannot be done for this rollout; empty: it can, as far as is known without trying.
  virtual std::string obstacle(const rollout::RolloutSpec& spec) const = 0;
  // The id of the commit that did it. May be asked again: for what is done already the commit that
  // did it is given, or "none" where nothing had to be done.
  virtual void commit(MatrixCommit commit, std::function<void(Result<std::string>)> done) = 0;
};

inline constexpr std::string_view no_commit = "none";

// For a matrix that was read for GitStep::check: an error says why a rollback is unavailable.
Result<std::string> check_text(const std::string& text, const MatrixCommit& commit);

// Whether trying again by itself may help: not for a conflict, a refusal or a thing that is not
// there.
bool may_pass(const Error& error);

}  // namespace lockstep::controller

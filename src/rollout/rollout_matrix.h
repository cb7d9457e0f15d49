// What a rollout does with the version matrix. When a wave before the last has passed, its
// versions are promoted, with the evidence in the commit. When one fails, the commit that brought
// them is reverted. The owner of the repository (git, or memory in the simulator) calls these
// functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "rollout/matrix_edit.h"
#include "rollout/matrix_history.h"
#include "rollout/matrix_message.h"
#include "rollout/rollout_status.h"

namespace lockstep::rollout {

// Why this driver, once it runs, could not be rolled back together with the rest of its slot;
// empty: it could. A slot marks its firmware as irreversible by firmware_one_way.
std::string one_way_step(const Matrix& matrix, std::string_view version);

// The canary with this driver becomes current. Without changes: it is current already. A conflict
// when the matrix says this driver nowhere: what runs is not what Git says.
Result<MatrixEdit> promote_driver(std::string_view text, std::string_view name,
                                  std::string_view version);

// What takes a driver out of the matrix: the commit to revert, and the file after the revert.
KeyVersion driver_version(std::string_view version);
// The canary is empty then, whatever it had before: the fleet runs current again.
Result<std::string> take_out_driver(std::string_view text, std::string_view name,
                                    std::string_view version);

// What the waves so far came to, for a commit's message.
Evidence evidence_of(const std::string& rollout, const RolloutStatus& status);

}  // namespace lockstep::rollout

// What a rollout does with the version matrix: when a wave before the last has passed, its versions
// become everybody's, with the evidence in the commit; when one fails, what brought the version is
// taken back. Whoever holds the repository (git, or memory in the simulator) asks here what to do.
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

// Why this driver, once it runs, could not be taken back together with what else its slot says;
// empty: it could. A slot says of its firmware that nothing leads back from it: firmware_one_way.
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

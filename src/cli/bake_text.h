// A bake's verdict as people read it: of a rollout in the cluster (`lockstep why ROLLOUT`), or of a
// record in a file, judged again (`lockstep simulate --replay FILE`).
#pragma once

#include <string>

#include "base/result.h"
#include "controller/rollout_watch.h"
#include "data/json.h"
#include "rollout/bake_record.h"

namespace lockstep::cli {

std::string bake_text(const rollout::BakeRecord& record);

// The rollout's status, and of each wave whose bake was recorded the verdict with its numbers.
std::string why_rollout_text(const controller::RolloutWatch& watch,
                             const controller::KnownRollout& rollout, Time now);
Json why_rollout_json(const controller::RolloutWatch& watch,
                      const controller::KnownRollout& rollout);

// A record as it stands in the ConfigMap lockstep-bake-NAME-NUMBER, or that ConfigMap itself.
Result<rollout::BakeRecord> read_bake_file(const std::string& file);
int run_replay(const std::string& file, const std::string& output);

}  // namespace lockstep::cli

// A bake's analysis for display: of a rollout in the cluster (`lockstep why ROLLOUT`), or of a
// record in a file, analyzed again (`lockstep simulate --replay FILE`).
#pragma once

#include <string>

#include "base/result.h"
#include "data/json.h"
#include "rollout/bake_record.h"
#include "view/rollout_watch.h"

namespace lockstep::cli {

std::string bake_text(const rollout::BakeRecord& record);

// The rollout's status, and of each wave whose bake was recorded the verdict with its numbers.
std::string why_rollout_text(const view::RolloutWatch& watch, const view::KnownRollout& rollout,
                             Time now);
Json why_rollout_json(const view::RolloutWatch& watch, const view::KnownRollout& rollout);

// A record as stored in the ConfigMap lockstep-bake-NAME-NUMBER, or that ConfigMap itself.
Result<rollout::BakeRecord> read_bake_file(const std::string& file);
int run_replay(const std::string& file, const std::string& output);

}  // namespace lockstep::cli

// A rollout for display.
#pragma once

#include <string>
#include <vector>

#include "base/time.h"
#include "data/json.h"
#include "operate/rollout_report.h"

namespace lockstep::cli {

std::string rollout_table(const std::vector<Document>& rollouts, Time now);
std::string rollout_text(const Json& object, Time now);
// "driver  Baking for 3h  (paused)", and a line on a gate.
std::string rollout_head(const operate::RolloutReport& rollout, Time now);
std::string gate_text(const rollout::Verdict& gate);
std::string rollout_history(const Json& rollout);
Json rollout_history_json(const Json& rollout);

}  // namespace lockstep::cli

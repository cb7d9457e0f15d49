// A rollout as people read it.
#pragma once

#include <string>
#include <vector>

#include "base/time.h"
#include "data/json.h"

namespace lockstep::cli {

std::string rollout_table(const std::vector<Document>& rollouts, Time now);
std::string rollout_text(const Json& rollout, Time now);
std::string rollout_history(const Json& rollout);
Json rollout_history_json(const Json& rollout);

}  // namespace lockstep::cli

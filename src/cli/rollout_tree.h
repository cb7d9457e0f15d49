// A rollout in progress as a tree for the terminal: each wave with its progress, about how long it
// takes, its gates and its bake in numbers. What the dashboard shows as a pipeline.
#pragma once

#include <string>

#include "base/time.h"
#include "cli/terminal.h"
#include "operate/rollout_report.h"

namespace lockstep::cli {

std::string rollout_tree(const operate::RolloutReport& rollout, Time now, const Terminal& terminal);

}  // namespace lockstep::cli

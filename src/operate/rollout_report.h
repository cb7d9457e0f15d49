// A rollout at a moment, as values: what `status`, `rollout status`, the demo and the dashboard's
// pages show of it, each in its own form.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "operate/fleet_status.h"
#include "rollout/bake.h"
#include "rollout/headline.h"
#include "rollout/rollout_spec.h"
#include "rollout/rollout_status.h"
#include "view/rollout_watch.h"

namespace lockstep::operate {

// What the bake of a wave has seen; nothing: it has none, or it has not begun.
using WaveBakes = std::vector<std::optional<rollout::BakeVerdict>>;
WaveBakes bakes_of(const view::RolloutWatch& watch, const view::KnownRollout& rollout);

struct WaveReport {
  // As the status has it; of one that has no status yet, its name alone.
  rollout::WaveStatus status;
  std::string state;  // "Baking", "Passed", "not open"
  // As it is asked for; not set: the spec has it no more.
  std::optional<rollout::WaveSpec> asked;
  std::optional<rollout::BakeVerdict> bake;
  bool is_baking = false;
  bool needs_approval = false;   // that is missing, and would still let the rollout go on
  std::optional<Duration> left;  // until its nodes are done, or its bake may pass
};

struct RolloutReport {
  std::string name;
  rollout::RolloutSpec spec;
  rollout::RolloutStatus status;
  rollout::Direction direction;
  std::vector<WaveReport> waves;  // all: those of the status, and those that are only asked for

  // The wave that is in progress; null: none is.
  const WaveReport* current() const;
};

RolloutReport report_rollout(std::string name, const rollout::RolloutSpec& spec,
                             const rollout::RolloutStatus& status, WaveBakes bakes);
// With its waves counted now, and with estimates by what `fleet` shows.
RolloutReport report_rollout(const view::FleetWatch& watch, const view::KnownRollout& rollout,
                             const FleetStatus& fleet);

// "Baking canary: 3 of 12 s, …"
std::string progress_line(const RolloutReport& report);

}  // namespace lockstep::operate

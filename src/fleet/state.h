// The states that a node goes through while its driver is upgraded, as its label spells them.
#pragma once

#include <array>
#include <string_view>

namespace lockstep::fleet {

enum class State {
  unknown,  // no label, or an unknown value
  done,
  required,
  cordon,
  wait_for_jobs,
  pod_deletion,
  drain,
  pod_restart,
  validation,
  uncordon,
  failed,
};

inline constexpr std::array all_states = {
    State::unknown,       State::done,         State::required, State::cordon,
    State::wait_for_jobs, State::pod_deletion, State::drain,    State::pod_restart,
    State::validation,    State::uncordon,     State::failed,
};

// "cordon-required"; empty for unknown.
std::string_view to_string(State state);
// Whatever is not a state's name is unknown.
State state_of(std::string_view label);
// For display: "unknown" where the label is empty.
std::string_view display_name(State state);

// From cordon-required through uncordon-required: these take up a place of maxParallelUpgrades.
bool is_active(State state);
// A driver pod that fits again before it was restarted ends the upgrade in these.
bool is_before_restart(State state);

}  // namespace lockstep::fleet

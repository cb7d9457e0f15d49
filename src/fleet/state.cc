#include "fleet/state.h"

namespace lockstep::fleet {

std::string_view to_string(State state) {
  switch (state) {
    case State::unknown:
      return "";
    case State::done:
      return "upgrade-done";
    case State::required:
      return "upgrade-required";
    case State::cordon:
      return "cordon-required";
    case State::wait_for_jobs:
      return "wait-for-jobs-required";
    case State::pod_deletion:
      return "pod-deletion-required";
    case State::drain:
      return "drain-required";
    case State::pod_restart:
      return "pod-restart-required";
    case State::validation:
      return "validation-required";
    case State::uncordon:
      return "uncordon-required";
    case State::failed:
      return "upgrade-failed";
  }
  return "";
}

State state_of(std::string_view label) {
  for (State state : all_states) {
    if (to_string(state) == label) return state;
  }
  return State::unknown;
}

std::string_view display_name(State state) {
  return state == State::unknown ? "unknown" : to_string(state);
}

bool is_active(State state) {
  switch (state) {
    case State::cordon:
    case State::wait_for_jobs:
    case State::pod_deletion:
    case State::drain:
    case State::pod_restart:
    case State::validation:
    case State::uncordon:
      return true;
    default:
      return false;
  }
}

bool is_before_restart(State state) {
  switch (state) {
    case State::required:
    case State::cordon:
    case State::wait_for_jobs:
    case State::pod_deletion:
    case State::drain:
      return true;
    default:
      return false;
  }
}

}  // namespace lockstep::fleet

#include "rollout/headline.h"

#include <fmt/format.h>

namespace lockstep::rollout {

namespace {

bool is_current(const RolloutStatus& status, size_t wave) {
  return static_cast<int64_t>(wave) + 1 == status.open_waves && !is_over(status.phase);
}

}  // namespace

bool is_returning(const RolloutStatus& status) {
  if (status.phase == Phase::rolling_back || status.phase == Phase::rolled_back) return true;
  // Held in the middle of a rollback.
  return status.waves_to_return > 0 && status.open_for.same_as(status.from) &&
         !status.to.same_as(status.from);
}

Direction direction_of(const RolloutStatus& status) {
  if (is_returning(status)) return {status.to.version, status.from.version};
  return {status.from.version, status.to.version};
}

std::string wave_state(const RolloutStatus& status, size_t wave) {
  if (is_current(status, wave)) return std::string(to_string(status.phase));
  if (wave >= status.waves.size() || !status.waves[wave].opened.is_set()) return "not open";
  return std::string(to_string(status.waves[wave].verdict));
}

bool is_baking(const RolloutStatus& status, size_t wave) {
  return status.phase == Phase::baking && is_current(status, wave);
}

std::string bake_clock(Duration passed, Duration asked) {
  if (passed <= asked) {
    return fmt::format("{} of {}", human_duration(passed), format_duration(asked));
  }
  return fmt::format("{} and {} more", format_duration(asked), human_duration(passed - asked));
}

bool needs_approval(const RolloutSpec& spec, const RolloutStatus& status, size_t wave) {
  if (wave >= spec.waves.size() || !spec.waves[wave].needs_approval) return false;
  if (is_over(status.phase) || is_returning(status)) return false;
  return wave >= status.waves.size() || status.waves[wave].approved_by.empty();
}

}  // namespace lockstep::rollout

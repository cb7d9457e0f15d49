#include "rollout/rollout_matrix.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "upgrade/pod_names.h"

namespace lockstep::rollout {

namespace {

constexpr std::string_view driver_key = "driver";

}  // namespace

std::string one_way_step(const Matrix& matrix, std::string_view version) {
  if (matrix.value(Slot::canary, "driver") != version) return {};
  std::string_view one_way = matrix.value(Slot::canary, "firmware_one_way");
  if (one_way.empty() || one_way == "false" || one_way == "no") return {};
  std::string_view firmware = matrix.value(Slot::canary, "firmware");
  std::string_view before = matrix.value(Slot::current, "firmware");
  if (firmware.empty() || firmware == before) return {};
  return fmt::format(
      "driver {1} installs firmware {0}, which is irreversible: no rollback to {2} "
      "(firmware_one_way in the matrix)",
      firmware, version, before.empty() ? "the previous firmware" : before);
}

Result<MatrixEdit> promote_driver(std::string_view text, std::string_view name,
                                  std::string_view version) {
  LOCKSTEP_TRY(const Matrix matrix, parse_matrix(text, name));
  if (matrix.value(Slot::canary, driver_key) == version) return promote_canary(text, name);
  if (matrix.value(Slot::current, driver_key) == version) return MatrixEdit{std::string(text), {}};
  auto shown = [&](Slot slot) {
    const std::string_view value = matrix.value(slot, driver_key);
    return value.empty() ? std::string_view("none") : value;
  };
  return fail(
      ErrorKind::conflict,
      fmt::format(
          "the fleet runs driver {}, which is not in the matrix: current is {}, canary is {}",
          version, shown(Slot::current), shown(Slot::canary)),
      std::string(name));
}

KeyVersion driver_version(std::string_view version) {
  return {std::string(driver_key), std::string(version)};
}

Result<std::string> take_out_driver(std::string_view text, std::string_view name,
                                    std::string_view version) {
  LOCKSTEP_TRY(std::string out, take_out(text, name, driver_version(version)));
  LOCKSTEP_TRY(const Matrix matrix, parse_matrix(out, name));
  if (matrix.value(Slot::canary, driver_key).empty()) return out;
  LOCKSTEP_TRY(MatrixEdit edit, empty_canary(out, name));
  return std::move(edit.text);
}

Evidence evidence_of(const std::string& rollout, const RolloutStatus& status) {
  Evidence evidence;
  evidence.rollout = rollout;
  std::vector<std::string> approved_by;
  for (const WaveStatus& wave : status.waves) {
    if (!wave.opened.is_set()) continue;
    evidence.lines.push_back(
        fmt::format("wave {}: {}, {} of {} done{}{}", wave.name, to_string(wave.verdict), wave.done,
                    upgrade::counted(static_cast<size_t>(std::max<int64_t>(wave.nodes, 0)), "node"),
                    wave.verdict_text.empty() ? "" : ", ", wave.verdict_text));
    for (const Verdict& gate : wave.gates) {
      evidence.lines.push_back(
          fmt::format("gate {} of {}: {}{}{}{}", gate.name, wave.name, to_string(gate.outcome),
                      gate.dry_run ? " (dry run)" : "", gate.text.empty() ? "" : ", ", gate.text));
    }
    if (!wave.bake.empty()) {
      evidence.lines.push_back(fmt::format("bake of {}: {}", wave.name, wave.bake));
    }
    if (!wave.detectable.empty()) {
      evidence.lines.push_back(fmt::format("detectable effect: {}", wave.detectable));
    }
    if (!wave.approved_by.empty()) approved_by.push_back(wave.approved_by);
  }
  evidence.approved_by = join(approved_by, ", ");
  return evidence;
}

}  // namespace lockstep::rollout

#include "rollout/rollout_matrix.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "base/strings.h"
#include "upgrade/pod_names.h"

namespace lockstep::rollout {

namespace {

constexpr std::string_view driver_key = "driver";

// What each slot says, while commits are taken back one after the other.
struct Drivers {
  std::array<std::string, 2> of;  // by Slot

  explicit Drivers(const Matrix& matrix) {
    for (Slot slot : {Slot::current, Slot::canary}) at(slot) = matrix.value(slot, driver_key);
  }
  std::string& at(Slot slot) { return of.at(static_cast<size_t>(slot)); }
  bool say(std::string_view version) const {
    return std::find(of.begin(), of.end(), version) != of.end();
  }
};

}  // namespace

bool says_driver(const Matrix& matrix, std::string_view version) {
  return Drivers(matrix).say(version);
}

std::string one_way_step(const Matrix& matrix, std::string_view version) {
  if (matrix.value(Slot::canary, "driver") != version) return {};
  std::string_view one_way = matrix.value(Slot::canary, "firmware_one_way");
  if (one_way.empty() || one_way == "false" || one_way == "no") return {};
  std::string_view firmware = matrix.value(Slot::canary, "firmware");
  std::string_view before = matrix.value(Slot::current, "firmware");
  if (firmware.empty() || firmware == before) return {};
  return fmt::format(
      "firmware {} comes with driver {}, and nothing leads back from it to {} "
      "(firmware_one_way in the matrix)",
      firmware, version, before.empty() ? "the one before" : before);
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
  return fail(ErrorKind::conflict,
              fmt::format("the fleet runs driver {}, and the matrix says it nowhere: current is "
                          "{}, canary is {}",
                          version, shown(Slot::current), shown(Slot::canary)),
              std::string(name));
}

Result<std::vector<MatrixCommit>> find_commits_to_take_back(
    std::string_view text, const std::vector<MatrixCommit>& commits, const ReadTexts& read,
    std::string_view version) {
  LOCKSTEP_TRY(const Matrix matrix, parse_matrix(text, "the matrix"));
  std::vector<MatrixCommit> found;
  Drivers drivers(matrix);
  std::set<std::string> undone;
  for (const MatrixCommit& commit : commits) {
    if (!drivers.say(version)) break;
    if (undone.contains(commit.id)) continue;
    const std::vector<std::string> taken_back = reverted_commits(commit.message);
    undone.insert(taken_back.begin(), taken_back.end());
    if (!taken_back.empty()) continue;
    LOCKSTEP_TRY(const MatrixTexts texts, read(commit));
    const std::vector<MatrixChange> changes = changes_of(texts);
    const bool brings =
        std::any_of(changes.begin(), changes.end(), [&](const MatrixChange& change) {
          return change.key == driver_key && change.after == version;
        });
    if (!brings) continue;
    for (const MatrixChange& change : changes) {
      if (change.key == driver_key) drivers.at(change.slot) = change.before;
    }
    found.push_back(commit);
  }
  if (!drivers.say(version)) return found;
  return failf(ErrorKind::not_found,
               "the matrix says driver {}, and no commit of the branch brought it by itself: take "
               "it back by hand",
               version);
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
      evidence.lines.push_back(fmt::format("could have found: {}", wave.detectable));
    }
    if (!wave.approved_by.empty()) approved_by.push_back(wave.approved_by);
  }
  evidence.approved_by = join(approved_by, ", ");
  return evidence;
}

}  // namespace lockstep::rollout

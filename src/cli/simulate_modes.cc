#include "cli/simulate_modes.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "base/strings.h"

namespace lockstep::cli {

namespace {

// Each a bit, so that a flag can name several.
enum Mode : unsigned {
  plain = 1,
  random_runs = 2,
  printing = 4,
  exhaustive = 8,
  one_place = 16,
  sequences = 32,
  replay = 64,
};

constexpr std::array<std::pair<Mode, std::string_view>, 7> modes = {{
    {plain, "a scenario file alone"},
    {random_runs, "--random"},
    {printing, "--random --print"},
    {exhaustive, "--exhaustive"},
    {one_place, "--crash-after or --freeze"},
    {sequences, "--sequences"},
    {replay, "--replay"},
}};

struct Use {
  std::string_view flag;
  unsigned modes;
};

constexpr std::array<Use, 20> uses = {{
    {"scenario", plain | exhaustive | one_place},
    {"--random", random_runs | printing},
    {"--rollouts", random_runs | printing},
    {"--seeds", random_runs},
    {"--every", random_runs},
    {"--no-shrinking", plain | random_runs},
    {"--keep-going", random_runs},
    {"--print", printing},
    {"--calm", printing},
    {"--events", plain},
    {"--exhaustive", exhaustive | one_place},
    {"--pairs", exhaustive},
    {"--crash-after", one_place},
    {"--freeze", one_place},
    {"--sequences", sequences},
    {"--only", sequences},
    {"--seed", plain | random_runs | printing | exhaustive | one_place | sequences},
    {"--nodes", plain | exhaustive | one_place},
    {"--replay", replay},
    {"--output", plain | replay},
}};

Mode mode_of(const SimulateFlags& flags) {
  const ExploreFlags& explore = flags.explore;
  if (!flags.replay.empty()) return replay;
  if (explore.random) return explore.print ? printing : random_runs;
  if (explore.sequences) return sequences;
  if (!explore.crashes.empty() || !explore.freezes.empty()) return one_place;
  return explore.exhaustive ? exhaustive : plain;
}

std::string names_of(unsigned chosen) {
  std::vector<std::string> names;
  for (const auto& [mode, name] : modes) {
    if ((chosen & mode) != 0) names.emplace_back(name);
  }
  return join(names, ", ");
}

}  // namespace

Result<void> check_simulate_flags(const SimulateFlags& flags) {
  const Mode mode = mode_of(flags);
  for (const std::string& flag : flags.given) {
    auto use = std::find_if(uses.begin(), uses.end(),
                            [&](const Use& known) { return known.flag == flag; });
    if (use == uses.end() || (use->modes & mode) != 0) continue;
    return fail(Error{ErrorKind::invalid,
                      fmt::format("{} cannot be combined with {}, only with: {}",
                                  flag == "scenario" ? "a scenario file" : flag, names_of(mode),
                                  names_of(use->modes)),
                      "simulate"});
  }
  return {};
}

}  // namespace lockstep::cli

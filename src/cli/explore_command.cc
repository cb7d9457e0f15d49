#include "cli/explore_command.h"

#include <chrono>
#include <cstdio>

#include <fmt/format.h>

#include "base/strings.h"
#include "cli/exit_codes.h"
#include "cli/shrinking.h"
#include "cli/simulate_command.h"
#include "sim/explore/calm_twin.h"
#include "sim/explore/exhaustive.h"
#include "sim/explore/random_run.h"
#include "sim/explore/sequences.h"
#include "sim/scenario/scenario_text.h"

namespace lockstep::cli {

namespace {

// Says on the side, every ten seconds, how far it is.
class Progress {
 public:
  void note(const std::string& text) {
    auto now = std::chrono::steady_clock::now();
    if (now - last_ < std::chrono::seconds(10)) return;
    last_ = now;
    fmt::print(stderr, "{}\n", text);
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

sim::RandomKind kind_of(const ExploreFlags& flags) {
  return flags.rollouts ? sim::RandomKind::rollout : sim::RandomKind::upgrade;
}

int report_random(const sim::Scenario& scenario, const sim::RandomResult& result, uint64_t seed,
                  const ExploreFlags& flags) {
  fmt::print("FAILED: {}\n", sim::random_command(seed, kind_of(flags)));
  print_findings({result.wrong, result.last_events});
  if (flags.no_shrinking) return ExitCode::failed;
  print_shrunk({scenario, {seed, 0, {}}}, result.wrong.front(), [](const sim::Case& tried) {
    sim::RandomResult found = sim::run_random(tried.scenario, tried.options);
    return sim::Findings{std::move(found.wrong), std::move(found.last_events)};
  });
  return ExitCode::failed;
}

Result<sim::Disturbances> disturbances_of(const ExploreFlags& flags) {
  sim::Disturbances disturbances;
  for (const auto& text : flags.crashes) {
    LOCKSTEP_TRY(sim::Crash crash, sim::read_crash(text));
    disturbances.crashes.push_back(crash);
  }
  for (const auto& text : flags.freezes) {
    LOCKSTEP_TRY(sim::Freeze freeze, sim::read_freeze(text));
    disturbances.freezes.push_back(freeze);
  }
  return disturbances;
}

}  // namespace

int run_random_mode(const ExploreFlags& flags, uint64_t first_seed) {
  if (flags.print) {
    sim::Scenario scenario = sim::random_scenario(first_seed, kind_of(flags));
    fmt::print("{}", sim::print_scenario(flags.calm ? sim::calm_twin(scenario) : scenario));
    return ExitCode::ok;
  }
  Progress progress;
  uint64_t runs = 0;
  uint64_t failed = 0;
  for (uint64_t i = 0; i < flags.seeds; i += flags.every) {
    uint64_t seed = first_seed + i;
    sim::Scenario scenario = sim::random_scenario(seed, kind_of(flags));
    sim::RandomResult result = sim::run_random(scenario, {seed, 0, {}});
    ++runs;
    progress.note(fmt::format("{} of {} seeds, {} failed", i + 1, flags.seeds, failed));
    if (result.wrong.empty()) continue;
    if (!flags.keep_going) return report_random(scenario, result, seed, flags);
    ++failed;
    fmt::print("FAILED: {}\n  {}\n", sim::random_command(seed, kind_of(flags)),
               result.wrong.front());
    std::fflush(stdout);
  }
  if (failed > 0) {
    fmt::print("{} random runs from seed {} on, {} failed\n", runs, first_seed, failed);
    return ExitCode::failed;
  }
  fmt::print("{} random runs from seed {} on: all passed\n", runs, first_seed);
  return ExitCode::ok;
}

int run_exhaustive_mode(const ExploreFlags& flags, const std::string& file, uint64_t seed,
                        int nodes) {
  auto scenario = read_scenario_file(file);
  if (!scenario) return report(scenario.error());
  auto wanted = disturbances_of(flags);
  if (!wanted) return report(wanted.error());
  sim::ExhaustiveOptions options;
  options.seed = seed;
  if (nodes > 0) options.nodes = nodes;
  options.pairs = flags.pairs;
  auto enough = sim::check_nodes(*scenario, options.nodes);
  if (!enough) return report(enough.error().at("--nodes"));
  Result<sim::ExhaustiveReport> found = *wanted == sim::Disturbances()
                                            ? sim::explore_all(*scenario, options)
                                            : sim::explore_one(*scenario, options, *wanted);
  if (!found) return report(found.error().at(file));
  fmt::print("{}: {} writes and {} events of {} nodes, {} runs, {} failed\n", found->scenario,
             found->writes, found->sightings, options.nodes, found->runs, found->findings.size());
  for (const auto& finding : found->findings) {
    fmt::print("FAILED: lockstep simulate --exhaustive {} --seed {} --nodes {} {}\n", file, seed,
               options.nodes, sim::flags_of(finding.disturbances));
    print_findings({finding.wrong, finding.last_events});
  }
  return found->findings.empty() ? ExitCode::ok : ExitCode::failed;
}

int run_sequences_mode(const ExploreFlags& flags, uint64_t seed) {
  std::vector<sim::Sequence> sequences;
  if (flags.only.empty()) {
    sequences = sim::every_sequence();
  } else {
    auto found = sim::find_sequence(flags.only);
    if (!found) return report(found.error());
    sequences.push_back(*found);
  }
  Progress progress;
  size_t failed = 0;
  for (size_t i = 0; i < sequences.size(); ++i) {
    sim::Findings found = sim::run_sequence(sequences[i], seed);
    progress.note(fmt::format("{} of {} sequences", i + 1, sequences.size()));
    if (found.wrong.empty()) continue;
    ++failed;
    fmt::print("FAILED: lockstep simulate --sequences --only {} --seed {}\n{}", sequences[i].name,
               seed, sequences[i].text);
    print_findings(found);
  }
  fmt::print("{} sequences, {} failed\n", sequences.size(), failed);
  return failed == 0 ? ExitCode::ok : ExitCode::failed;
}

}  // namespace lockstep::cli

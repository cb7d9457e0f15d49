#include "cli/simulate_command.h"

#include <chrono>
#include <cstdio>

#include <fmt/format.h>

#include "cli/bake_text.h"
#include "cli/exit_codes.h"
#include "cli/shrinking.h"
#include "cli/simulate_modes.h"
#include "cli/status_command.h"
#include "sim/scenario/scenario_run.h"
#include "world/files.h"
#include "world/huge_pages.h"

namespace lockstep::cli {

namespace {

JsonArray texts(const std::vector<std::string>& lines) {
  JsonArray array;
  for (const auto& line : lines) array.emplace_back(line);
  return array;
}

template <typename Map>
JsonObject numbers(const Map& map) {
  JsonObject object;
  for (const auto& [key, value] : map) object[key] = value;
  return object;
}

Json to_json(const sim::RunSummary& summary, double wall_seconds) {
  return JsonObject{{"scenario", summary.scenario},
                    {"seed", summary.seed},
                    {"nodes", summary.nodes},
                    {"done", summary.done},
                    {"failed", summary.failed},
                    {"virtual_seconds", summary.virtual_seconds},
                    {"wall_seconds", wall_seconds},
                    {"ideal_seconds", summary.ideal_seconds},
                    {"api_calls", numbers(summary.api_calls)},
                    {"writes", summary.node_writes},
                    {"evictions", summary.evictions},
                    {"states", numbers(summary.states)},
                    {"reasons", numbers(summary.reasons)},
                    {"faults", numbers(summary.faults)},
                    {"rested", summary.rested},
                    {"late_writes", summary.late_writes},
                    {"digest", summary.digest},
                    {"violations", texts(summary.violations)},
                    {"expectations_not_met", texts(summary.disappointments)},
                    {"last_events", texts(summary.last_events)}};
}

void print_table(const sim::RunSummary& summary, double wall_seconds, bool shows_events) {
  fmt::print("{} with seed {}: {}\n", summary.scenario, summary.seed,
             summary.ok() ? "as expected" : "NOT as expected");
  fmt::print("  nodes {}  done {}  failed {}\n", summary.nodes, summary.done, summary.failed);
  fmt::print("  virtual {:.0f} s  ideal {:.0f} s  wall {:.2f} s\n", summary.virtual_seconds,
             summary.ideal_seconds, wall_seconds);
  std::string calls;
  for (const auto& [verb, count] : summary.api_calls) calls += fmt::format("  {} {}", verb, count);
  fmt::print("  api calls:{}\n", calls);
  fmt::print("  writes {} ({:.1f} per node besides evictions and events)  evictions {}\n",
             summary.node_writes,
             static_cast<double>(summary.node_writes) / static_cast<double>(summary.nodes),
             summary.evictions);
  for (const auto& [reason, count] : summary.reasons) fmt::print("  {} x {}\n", reason, count);
  fmt::print("  digest {}\n", summary.digest);
  for (const auto& text : summary.violations) fmt::print("  VIOLATION {}\n", text);
  for (const auto& text : summary.disappointments) fmt::print("  NOT MET {}\n", text);
  if (summary.ok() && !shows_events) return;
  for (const auto& line : summary.last_events) fmt::print("  {}\n", line);
  std::fflush(stdout);
}

// What makes it fail again, and the smallest case that does. Of a large fleet it would take hours.
void print_way_back(const SimulateFlags& flags, const sim::Scenario& scenario,
                    const sim::RunSummary& summary) {
  fmt::print("FAILED: lockstep simulate {} --seed {} --nodes {}\n", flags.file, summary.seed,
             summary.nodes);
  constexpr int64_t most_nodes = 100;
  if (flags.explore.no_shrinking || summary.nodes > most_nodes) return;
  print_shrunk({scenario, {.seed = flags.seed, .nodes = flags.nodes}},
               sim::findings_of(summary).wrong.front(), [](const sim::Case& tried) {
                 return sim::findings_of(sim::run_scenario(tried.scenario, tried.options));
               });
}

}  // namespace

Result<sim::Scenario> read_scenario_file(const std::string& file) {
  if (file.empty()) {
    return fail(Error{ErrorKind::invalid, "name a scenario file (see scenarios/)", "simulate"});
  }
  LOCKSTEP_TRY(std::string text, SystemFiles().read(file));
  return sim::read_scenario(text, file);
}

int run_simulate(const SimulateFlags& flags) {
  if (auto fitting = check_simulate_flags(flags); !fitting) return report(fitting.error());
  if (!flags.replay.empty()) return run_replay(flags.replay, flags.output);
  const ExploreFlags& explore = flags.explore;
  if (explore.random) return run_random_mode(explore, flags.seed);
  if (explore.sequences) return run_sequences_mode(explore, flags.seed);
  bool one_place = !explore.crashes.empty() || !explore.freezes.empty();
  if (explore.exhaustive || one_place) {
    return run_exhaustive_mode(explore, flags.file, flags.seed, flags.nodes);
  }
  constexpr int large = 1'000;
  if (flags.nodes >= large) begin_again_with_huge_pages();
  auto scenario = read_scenario_file(flags.file);
  if (!scenario) return report(scenario.error());
  auto enough = sim::check_nodes(*scenario, flags.nodes);
  if (!enough) return report(enough.error().at("--nodes"));
  auto began = std::chrono::steady_clock::now();
  sim::RunOptions options{.seed = flags.seed, .nodes = flags.nodes};
  if (flags.events > 0) options.events = flags.events;
  sim::RunSummary summary = sim::run_scenario(*scenario, options);
  double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  if (flags.output == "table") {
    print_table(summary, wall, flags.events > 0);
    if (!summary.ok()) print_way_back(flags, *scenario, summary);
  } else {
    print_document(to_json(summary, wall), flags.output);
  }
  return summary.ok() ? ExitCode::ok : ExitCode::failed;
}

}  // namespace lockstep::cli

// The simulator's own speed: how many random runs of a small fleet one core makes in a second, and
// what the upgrade of a large fleet takes, with waves of faults (scenarios/waves-of-faults.yaml).
//
//   simulation_bench                    1,000 and 10,000 nodes
//   simulation_bench hundred-thousand   100,000 nodes too
//   simulation_bench runs               only the small fleets
//   simulation_bench 4000               only a fleet of this size, with the digest of its run
//
// Time is processor time, user and system: what else runs on the machine does not count. Each size
// is a process of its own, so that its peak of memory is known. Exit code 1 when a target is
// missed, or a run does not end as it should.

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/strings.h"
#include "measure.h"
#include "sim/scenario/scenario_run.h"
#include "world/huge_pages.h"

namespace lockstep::bench {
namespace {

std::optional<sim::Scenario> read(const std::string& name) {
  std::ifstream file(fmt::format("{}/{}.yaml", LOCKSTEP_SCENARIO_DIR, name));
  std::stringstream text;
  text << file.rdbuf();
  auto scenario = sim::read_scenario(text.str(), name + ".yaml");
  if (scenario) return std::move(*scenario);
  fmt::print("{}\n", scenario.error().text());
  ++missed;
  return std::nullopt;
}

// Upgrades of twenty nodes, each with another seed.
void measure_runs(const sim::Scenario& scenario, std::string_view name, double target) {
  constexpr double length = 3;  // seconds of processor time
  uint64_t runs = 0;
  uint64_t wrong = 0;
  double begin = processor_seconds();
  double end = begin;
  while (end - begin < length) {
    sim::RunSummary summary = sim::run_scenario(scenario, {.seed = ++runs, .nodes = 20});
    if (!summary.ok()) ++wrong;
    end = processor_seconds();
  }
  report_at_least(fmt::format("runs of 20 nodes, {}", name),
                  static_cast<double>(runs) / (end - begin), "per second and core", target);
  report_at_most("of them not as expected", static_cast<double>(wrong), "runs", 0);
}

struct Target {
  double seconds = 0;
  double gigabytes = 0;
};

// 10,000 nodes in 15 s and 1 GB, 100,000 in 5 minutes and 8 GB; small fleets as the first, on top
// of what every run needs.
Target target_of(int nodes) {
  const bool large = nodes > 10'000;
  return {(large ? 0.003 : 0.0015) * nodes, std::max((large ? 0.00008 : 0.0001) * nodes, 0.2)};
}

struct Cost {
  double seconds = 0;
  double gigabytes = 0;
};

std::optional<Cost> run_apart(const sim::Scenario& scenario, int nodes) {
  pid_t child = fork();
  if (child < 0) return std::nullopt;
  if (child == 0) {
    sim::RunSummary summary = sim::run_scenario(scenario, {.seed = 1, .nodes = nodes});
    for (const auto& text : summary.violations) fmt::print("  {}\n", text);
    for (const auto& text : summary.disappointments) fmt::print("  {}\n", text);
    fmt::print("digest of {} nodes: {}\n", nodes, summary.digest);
    std::fflush(stdout);
    _exit(summary.ok() ? 0 : 1);
  }
  int status = 0;
  rusage used{};
  if (wait4(child, &status, 0, &used) != child || status != 0) return std::nullopt;
  auto in_seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return Cost{in_seconds(used.ru_utime) + in_seconds(used.ru_stime),
              static_cast<double>(used.ru_maxrss) * 1024 / 1e9};
}

std::optional<Cost> measure_size(const sim::Scenario& scenario, int nodes) {
  const Target target = target_of(nodes);
  auto cost = run_apart(scenario, nodes);
  if (!cost) {
    fmt::print("{} nodes: the run did not end as it should\n", nodes);
    ++missed;
    return cost;
  }
  report_at_most(fmt::format("upgrade of {} nodes with waves of faults", nodes), cost->seconds,
                 "s of processor time", target.seconds);
  report_at_most(fmt::format("memory of {} nodes, at its peak", nodes), cost->gigabytes, "GB",
                 target.gigabytes);
  return cost;
}

// No faster than n log n.
void judge_growth(int few, const std::optional<Cost>& small, int many,
                  const std::optional<Cost>& large) {
  if (!small || !large) return;
  double allowed = many * std::log(many) / (few * std::log(few));
  report_at_most(fmt::format("growth of time from {} to {} nodes", few, many),
                 large->seconds / small->seconds, "times", allowed);
}

}  // namespace
}  // namespace lockstep::bench

int main(int count, char** arguments) {
  using namespace lockstep::bench;
  // As lockstep simulate does.
  lockstep::begin_again_with_huge_pages();
  std::string_view wish = count > 1 ? arguments[1] : "";
  auto small = read("bad-day-for-all");
  auto waves = read("waves-of-faults");
  if (!small || !waves) return 1;
  if (auto nodes = lockstep::parse_integer(wish)) {
    measure_size(*waves, static_cast<int>(*nodes));
    return missed > 0 ? 1 : 0;
  }
  auto calm = *small;
  calm.controller_faults = calm.fleet_faults = 0;
  calm.controllers = 1;
  calm.steps.clear();
  measure_runs(calm, "no faults", 300);
  measure_runs(*small, "a bad day", 300);
  if (wish == "runs") return missed > 0 ? 1 : 0;
  auto thousand = measure_size(*waves, 1'000);
  auto ten_thousand = measure_size(*waves, 10'000);
  judge_growth(1'000, thousand, 10'000, ten_thousand);
  if (wish == "hundred-thousand") {
    auto hundred_thousand = measure_size(*waves, 100'000);
    judge_growth(10'000, ten_thousand, 100'000, hundred_thousand);
  }
  return missed > 0 ? 1 : 0;
}

// What a rollout in waves costs in simulation: six waves, each with a bake of two days that is
// looked at every five minutes (scenarios/six-waves.yaml), so twelve days of a fleet.
//
//   rollout_bench          1,000 and 10,000 nodes
//   rollout_bench 2000     only a fleet of this size
//
// Time is processor time, user and system, of a process of its own. Exit code 1 when a target is
// missed, or a run does not end as it should.

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

std::optional<sim::Scenario> read_six_waves() {
  const std::string path = std::string(LOCKSTEP_SCENARIO_DIR) + "/six-waves.yaml";
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  auto scenario = sim::read_scenario(text.str(), path);
  if (scenario) return std::move(*scenario);
  fmt::print("{}\n", scenario.error().text());
  return std::nullopt;
}

void measure_size(const sim::Scenario& scenario, int nodes, double target) {
  pid_t child = fork();
  if (child == 0) {
    sim::RunSummary summary = sim::run_scenario(scenario, {.seed = 1, .nodes = nodes});
    for (const auto& text : summary.violations) fmt::print("  {}\n", text);
    for (const auto& text : summary.disappointments) fmt::print("  {}\n", text);
    std::fflush(stdout);
    _exit(summary.ok() ? 0 : 1);
  }
  int status = 0;
  rusage used{};
  if (child < 0 || wait4(child, &status, 0, &used) != child || status != 0) {
    fmt::print("{} nodes: the run did not end as it should\n", nodes);
    ++missed;
    return;
  }
  auto in_seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  report_at_most(fmt::format("six waves of {} nodes with bakes of 48h", nodes),
                 in_seconds(used.ru_utime) + in_seconds(used.ru_stime), "s of processor time",
                 target);
  report("memory, at its peak", static_cast<double>(used.ru_maxrss) * 1024 / 1e9, "GB");
}

}  // namespace
}  // namespace lockstep::bench

int main(int count, char** arguments) {
  lockstep::begin_again_with_huge_pages();
  using namespace lockstep::bench;
  constexpr double target = 60;  // seconds for 10,000 nodes
  constexpr int many = 10'000;
  auto scenario = read_six_waves();
  if (!scenario) return 1;
  auto wish = lockstep::parse_integer(count > 1 ? arguments[1] : "");
  if (wish) {
    measure_size(*scenario, static_cast<int>(*wish), target * static_cast<double>(*wish) / many);
  } else {
    measure_size(*scenario, many / 10, target / 10);
    measure_size(*scenario, many, target);
  }
  return missed > 0 ? 1 : 0;
}

// The analysis of bakes: how often it raises a false alarm, how often it finds a bad driver, and
// what a verdict costs. `bake_bench --table` prints the table of docs/BAKE.md, `--cost` the last
// line alone.
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <random>

#include <fmt/format.h>

#include "rollout/bake_test_util.h"

namespace {

using namespace lockstep;
using namespace lockstep::rollout;

constexpr double base_rate = 1.0 / 79000;  // incidents per GPU-hour

double share_of_alarms(const DrawnBake& drawn, int runs, std::mt19937_64& random) {
  int found = 0;
  for (int run = 0; run < runs; ++run) {
    found += draw_bake(drawn, random).outcome == BakeOutcome::failed ? 1 : 0;
  }
  return static_cast<double>(found) / runs;
}

DrawnBake in_bursts(DrawnBake drawn, double fragile_factor) {
  drawn.fragile_share = 0.05;
  drawn.fragile_factor = fragile_factor;
  drawn.most_events = 10;
  return drawn;
}

void print_table(std::mt19937_64& random) {
  fmt::print("| canary nodes | days | 3 x | 10 x | 30 x | 100 x |\n|---|---|---|---|---|---|\n");
  constexpr int runs = 1000;
  for (int canary : {1, 8, 16, 64, 128}) {
    for (int days : {2, 4}) {
      fmt::print("| {} | {} |", canary, days);
      for (double ratio : {3.0, 10.0, 30.0, 100.0}) {
        const DrawnBake drawn{canary, 200, days, base_rate, ratio};
        fmt::print(" {:.0f}% |", 100 * share_of_alarms(drawn, runs, random));
      }
      fmt::print("\n");
    }
  }
}

double microseconds_per_verdict() {
  BakeJudge judge({});
  // Of the processor, not of the wall: others may be at work.
  std::clock_t before = std::clock();
  double sum = 0;
  constexpr int steps = 2000;
  for (int i = 0; i < steps; ++i) {
    ModelStep model = hours_of(8, 26);
    model.upgraded_events[fmt::format("new-{}", i)] = {{"FatalXid", 1}};
    model.control_events[fmt::format("old-{}", i)] = {{"LinkFlap", 1}};
    BakeStep step = step_at(minutes(i), std::move(model));
    step.upgraded_nodes = steps;
    judge.add(step);
    sum += judge.verdict().evidence;
  }
  std::clock_t spent = std::clock() - before;
  if (sum < 0) std::abort();
  return 1e6 * static_cast<double>(spent) / CLOCKS_PER_SEC / steps;
}

}  // namespace

int main(int argc, char** argv) {
  std::mt19937_64 random(20261115);
  if (argc > 1 && std::strcmp(argv[1], "--table") == 0) {
    print_table(random);
    return 0;
  }
  if (argc > 1 && std::strcmp(argv[1], "--cost") == 0) {
    fmt::print("one step and one verdict: {:.1f} us\n", microseconds_per_verdict());
    return 0;
  }
  constexpr int many = 10000;
  constexpr double often = 1e-4;
  fmt::print(
      "false alarms, 10,000 null bakes of 2 days, 64 + 200 nodes: {:.2f}% at one incident per "
      "79,000 GPU-hours, {:.2f}% at one per 10,000\n",
      100 * share_of_alarms({64, 200, 2, base_rate}, many, random),
      100 * share_of_alarms({64, 200, 2, often}, many, random));
  fmt::print(
      "the same at one per 10,000, 1 to 10 events an incident, a twentieth of the nodes 300 times "
      "as fragile: {:.2f}%; 30 times: {:.2f}%; 4 + 200 nodes, 300 times: {:.2f}%\n",
      100 * share_of_alarms(in_bursts({64, 200, 2, often}, 300), many, random),
      100 * share_of_alarms(in_bursts({64, 200, 2, often}, 30), many, random),
      100 * share_of_alarms(in_bursts({4, 200, 2, often}, 300), many, random));
  fmt::print("detected, 30 x the rate in 2 days: {:.1f}%\n",
             100 * share_of_alarms({64, 200, 2, base_rate, 30}, 1000, random));
  fmt::print("detected, 10 x the rate in 4 days: {:.1f}%\n",
             100 * share_of_alarms({64, 200, 4, base_rate, 10}, 1000, random));
  fmt::print("one step and one verdict: {:.1f} us\n", microseconds_per_verdict());
  return 0;
}

// The judge of bakes: how often it raises a false alarm, how often it finds a bad driver, and what
// a verdict costs. `bake_bench --table` prints the table of docs/BAKE.md, `--cost` the last line
// alone.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "rollout/bake.h"
#include "world/random.h"

namespace {

using namespace lockstep;
using namespace lockstep::rollout;

constexpr double base_rate = 1.0 / 79000;  // fatal events per GPU-hour
constexpr int gpus_per_node = 8;

int64_t draw_events(double expected, Random& random) {
  int64_t events = 0;
  double passed = 0;
  while (true) {
    passed -= std::log(1 - random.fraction());
    if (passed > expected) return events;
    ++events;
  }
}

struct Setting {
  int canary = 64;
  int control = 200;
  int days = 2;
  double ratio = 1;
  double rate = base_rate;
};

// Looked at every minute. Minutes without an event change nothing but the exposure, so that they
// are added in one step; the verdict is the same as with a step for each.
bool alarms(const Setting& setting, Random& random) {
  Time began = Time::from_unix(1'800'000'000);
  BakeRules rules;
  rules.duration = hours(24 * setting.days);
  rules.max_duration = 2 * rules.duration;
  BakeJudge judge(rules, began);
  double upgraded_per_minute = setting.canary * gpus_per_node / 60.0;
  double control_per_minute = setting.control * gpus_per_node / 60.0;
  int64_t minutes_in_all = int64_t{24} * 60 * setting.days;
  int64_t events_left = draw_events(static_cast<double>(minutes_in_all) * setting.rate *
                                        (setting.ratio * upgraded_per_minute + control_per_minute),
                                    random);
  // Given how many there are, their times are uniform and their sides independent.
  std::vector<int64_t> times;
  for (; events_left > 0; --events_left) {
    times.push_back(static_cast<int64_t>(random.below(static_cast<uint64_t>(minutes_in_all))));
  }
  std::sort(times.begin(), times.end());
  double share = setting.ratio * upgraded_per_minute /
                 (setting.ratio * upgraded_per_minute + control_per_minute);
  for (int64_t minute : times) {
    ModelStep model{"H100", upgraded_per_minute, control_per_minute, {}, {}};
    bool on_upgraded = random.fraction() < share;
    (on_upgraded ? model.upgraded_events : model.control_events)["FatalXid"] = 1;
    BakeStep step;
    step.at = began + minutes(minute + 1);
    step.models.push_back(std::move(model));
    judge.add(step);
    if (judge.verdict(step.at).outcome == BakeOutcome::failed) return true;
  }
  return false;
}

double share_of_alarms(const Setting& setting, int runs, Random& random) {
  int found = 0;
  for (int run = 0; run < runs; ++run) found += alarms(setting, random) ? 1 : 0;
  return static_cast<double>(found) / runs;
}

void print_table(Random& random) {
  fmt::print("| canary nodes | days | 3 x | 10 x | 30 x | 100 x |\n|---|---|---|---|---|---|\n");
  constexpr int runs = 1000;
  for (int canary : {1, 8, 16, 64, 128}) {
    for (int days : {2, 4}) {
      fmt::print("| {} | {} |", canary, days);
      for (double ratio : {3.0, 10.0, 30.0, 100.0}) {
        Setting setting{canary, 200, days, ratio};
        fmt::print(" {:.0f}% |", 100 * share_of_alarms(setting, runs, random));
      }
      fmt::print("\n");
    }
  }
}

double microseconds_per_verdict() {
  BakeJudge judge({}, Time::from_unix(0));
  ModelStep model{"H100", 8, 26, {{"FatalXid", 1}}, {{"LinkFlap", 1}}};
  BakeStep step;
  step.models.push_back(model);
  constexpr int steps = 2000;
  // Of the processor, not of the wall: others may be at work.
  std::clock_t before = std::clock();
  double sum = 0;
  for (int i = 0; i < steps; ++i) {
    step.at = Time::from_unix(i * 60);
    judge.add(step);
    sum += judge.verdict(step.at).evidence;
  }
  std::clock_t spent = std::clock() - before;
  if (sum < 0) std::abort();
  return 1e6 * static_cast<double>(spent) / CLOCKS_PER_SEC / steps;
}

}  // namespace

int main(int argc, char** argv) {
  SeededRandom random(20261115);
  if (argc > 1 && std::strcmp(argv[1], "--table") == 0) {
    print_table(random);
    return 0;
  }
  if (argc > 1 && std::strcmp(argv[1], "--cost") == 0) {
    fmt::print("one step and one verdict: {:.1f} us\n", microseconds_per_verdict());
    return 0;
  }
  constexpr double often = 1e-4;
  fmt::print(
      "false alarms, 10,000 null bakes of 2 days, 64 + 200 nodes: {:.2f}% at one event per "
      "79,000 GPU-hours, {:.2f}% at one per 10,000\n",
      100 * share_of_alarms({64, 200, 2, 1}, 10000, random),
      100 * share_of_alarms({64, 200, 2, 1, often}, 10000, random));
  fmt::print("detected, 30 x the rate in 2 days: {:.1f}%\n",
             100 * share_of_alarms({64, 200, 2, 30}, 1000, random));
  fmt::print("detected, 10 x the rate in 4 days: {:.1f}%\n",
             100 * share_of_alarms({64, 200, 4, 10}, 1000, random));
  fmt::print("one step and one verdict: {:.1f} us\n", microseconds_per_verdict());
  return 0;
}

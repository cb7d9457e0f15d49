#include "sim/explore/sequences.h"

#include <fmt/format.h>

#include "base/strings.h"
#include "sim/actors/versions.h"
#include "sim/explore/exhaustive.h"

namespace lockstep::sim {

namespace {

constexpr std::string_view bad_version = "599.99.99";

// A place to begin from, and what it takes to get there.
struct Place {
  std::string_view name;
  std::string_view when;           // of the first step
  std::string_view policy = {};    // besides the limits
  std::string_view work = {};      // besides two pods with GPUs
  std::string_view machines = {};  // besides the version that is bad everywhere
  bool idle = false;               // the version is changed only after all that
  bool lasts = false;              // long enough to be met in its midst, not at its beginning
};

constexpr Place places[] = {
    {.name = "idle", .when = "at: 0s", .idle = true},
    {.name = "upgrade-required", .when = "state: upgrade-required, promptly: true"},
    {.name = "cordon-required", .when = "state: cordon-required, promptly: true"},
    {.name = "wait-for-jobs-required",
     .when = "state: wait-for-jobs-required",
     .policy = ", waitForCompletion: {podSelector: app=llm-pretrain}",
     .work = ", jobPods: 3, jobSeconds: 900",
     .lasts = true},
    {.name = "pod-deletion-required", .when = "state: pod-deletion-required, promptly: true"},
    {.name = "drain-required",
     .when = "state: drain-required, promptly: true",
     .policy = ", drain: {enable: true, force: true}",
     .work = ", barePod: true"},
    {.name = "pod-restart-required", .when = "state: pod-restart-required, promptly: true"},
    {.name = "validation-required", .when = "state: validation-required, promptly: true"},
    {.name = "uncordon-required", .when = "state: uncordon-required, promptly: true"},
    {.name = "upgrade-failed",
     .when = "state: upgrade-failed, promptly: true",
     .policy = ", maxFailures: 2",
     .machines = "  - {nodes: [1, 2], driverCrashes: \"580.126.20\"}\n"},
    {.name = "upgrade-done", .when = "state: upgrade-done, promptly: true"},
    {.name = "all-done", .when = "at: 1s, rest: true"},
};

// Steps without their brackets; the first comes at the place, each other names its time.
struct Change {
  std::string_view name;
  std::vector<std::string_view> steps;
  std::string_view version = new_version;  // the last word
};

const std::vector<Change>& changes() {
  static const std::vector<Change> all = {
      {"back", {R"(setVersion: "580.105.08")"}, old_version},
      {"third", {R"(setVersion: "580.130.01")"}, third_version},
      {"back-and-forth", {R"(setVersion: "580.105.08")", R"(after: 7s, setVersion: "580.126.20")"}},
      {"third-and-back",
       {R"(setVersion: "580.130.01")", R"(after: 4m, setVersion: "580.105.08")"},
       old_version},
      {"bad-and-back", {R"(setVersion: "599.99.99")", R"(after: 3h, setVersion: "580.126.20")"}},
      {"same-again", {R"(setVersion: "580.126.20")"}},
      {"invalid",
       {R"(setPolicy: {maxUnavailable: "a quarter"})",
        "after: 1h, setPolicy: {maxUnavailable: 1}"}},
      {"off", {"setPolicy: {autoUpgrade: false}", "after: 1h, setPolicy: {autoUpgrade: true}"}},
      {"off-and-back",
       {"setPolicy: {autoUpgrade: false}", R"(after: 5m, setVersion: "580.105.08")",
        "after: 5m, setPolicy: {autoUpgrade: true}"},
       old_version},
      {"pause", {R"(pause: "by ops: a test")", "after: 1h, resume: true"}},
      {"none-at-all",
       {"setPolicy: {maxUnavailable: 0}", "after: 1h, setPolicy: {maxUnavailable: 1}"}},
      {"all-at-once", {R"(setPolicy: {maxUnavailable: "100%", maxParallelUpgrades: 0})"}},
      {"drain",
       {"setPolicy: {drain: {enable: true, force: true}}",
        "after: 10m, setPolicy: {drain: {enable: false}}"}},
      {"wait",
       {"setPolicy: {waitForCompletion: {podSelector: app=inference, timeoutSeconds: 600}}",
        "after: 2h, setPolicy: {waitForCompletion: {podSelector: \"\"}}"}},
      {"impatient",
       {"setPolicy: {deadlines: {restartSeconds: 5, validationSeconds: 1}}",
        "after: 2h, setPolicy: {deadlines: {restartSeconds: 1800, validationSeconds: 600}}"}},
      {"ignore-cordoned",
       {"setPolicy: {cordonedNodes: ignore}", "after: 1h, setPolicy: {cordonedNodes: wait}"}},
      {"restart-only", {"cosmeticChange: {example.com/team: platform}"}},
      {"restart-only-and-back",
       {"cosmeticChange: {example.com/team: platform}", R"(after: 2m, setVersion: "580.105.08")"},
       old_version},
      {"chart", {R"(setChart: "v26.3.2")"}},
      {"restart", {"restart: true"}},
      {"away", {"stop: true", "after: 1h, start: true"}},
      {"cordon", {"nodes: {first: 3}, cordon: true", "after: 1h, rest: true, heal: true"}},
      {"uncordon", {"nodes: {first: 3}, uncordon: true"}},
      {"skip", {"nodes: {first: 3}, skip: true", "after: 1h, nodes: {first: 3}, unskip: true"}},
      {"retry", {"nodes: {first: 3}, retry: true"}},
      {"not-ready", {"nodes: [1, 2], notReady: true", "after: 20m, nodes: [1, 2], ready: true"}},
  };
  return all;
}

std::string text_of(const Place& place, const Change& change, const std::string& name) {
  std::string text = fmt::format(
      "name: {}\nnodes: 3\n{}policy: {{autoUpgrade: true, maxParallelUpgrades: 1, "
      "maxUnavailable: 1{}}}\nworkloads: {{deploymentReplicas: 2, deploymentGpus: 2{}}}\n"
      "machines:\n  - {{nodes: {{first: 3}}, driverCrashes: \"{}\"}}\n{}steps:\n",
      name, place.idle ? "" : fmt::format("to: \"{}\"\n", new_version), place.policy, place.work,
      bad_version, place.machines);
  std::string_view when = place.when;
  if (place.lasts) {
    text += fmt::format("  - {{{}, setChart: v26.3.1}}\n", when);
    when = "after: 1m";
  }
  bool first = true;
  for (std::string_view step : change.steps) {
    text += first ? fmt::format("  - {{{}, {}}}\n", when, step) : fmt::format("  - {{{}}}\n", step);
    first = false;
  }
  if (place.idle) text += fmt::format("  - {{after: 1m, setVersion: \"{}\"}}\n", change.version);
  // Users repair what broke on the way, twice: the second time for what had to wait.
  text += "  - {after: 1m, rest: true, heal: true}\n  - {after: 1m, rest: true, heal: true}\n";
  text += fmt::format(
      "limit: 48h\nexpect: {{done: all, failed: 0, cordoned: [], version: \"{}\", workRuns: "
      "true}}\n",
      change.version);
  return text;
}

}  // namespace

std::vector<Sequence> every_sequence() {
  std::vector<Sequence> all;
  for (const Place& place : places) {
    for (const Change& change : changes()) {
      std::string name = fmt::format("{}/{}", place.name, change.name);
      all.push_back({name, text_of(place, change, name)});
    }
  }
  return all;
}

Result<Sequence> find_sequence(const std::string& name) {
  std::vector<std::string> names;
  for (Sequence& sequence : every_sequence()) {
    if (sequence.name == name) return sequence;
    names.push_back(sequence.name);
  }
  return fail(ErrorKind::invalid, unknown_word("sequence", name, names));
}

Findings run_sequence(const Sequence& sequence, uint64_t seed) {
  auto scenario = read_scenario(sequence.text, sequence.name);
  if (!scenario) return {{scenario.error().text()}, {}};
  return findings_of(run_scenario(*scenario, {seed, 0, {}}));
}

}  // namespace lockstep::sim

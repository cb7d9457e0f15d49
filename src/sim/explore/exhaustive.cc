#include "sim/explore/exhaustive.h"

#include <functional>
#include <optional>

#include <fmt/format.h>

#include "base/strings.h"

namespace lockstep::sim {

namespace {

void add_crashes(const RunSummary& calm, Duration away, std::vector<Disturbances>& all) {
  for (uint64_t write = 1; write <= calm.writes; ++write) {
    all.push_back({{Crash{write, away}}, {}});
  }
}

void add_pairs(const RunSummary& calm, std::vector<Disturbances>& all) {
  for (uint64_t first = 1; first <= calm.writes; ++first) {
    for (uint64_t second = first + 1; second <= calm.writes; ++second) {
      all.push_back({{Crash{first, {}}, Crash{second, {}}}, {}});
    }
  }
}

void add_freezes(const RunSummary& calm, const ExhaustiveOptions& options, bool crash,
                 std::vector<Disturbances>& all) {
  for (const auto& [resource, events] : calm.sightings) {
    for (uint64_t event = 1; event <= events; ++event) {
      all.push_back({{}, {Freeze{resource, event, options.length, crash}}});
    }
  }
}

}  // namespace

std::vector<Disturbances> every_disturbance(const RunSummary& calm,
                                            const ExhaustiveOptions& options) {
  std::vector<Disturbances> all;
  if (options.crashes) add_crashes(calm, {}, all);
  if (options.absences) add_crashes(calm, options.away, all);
  if (options.freezes) add_freezes(calm, options, false, all);
  if (options.stale_starts) add_freezes(calm, options, true, all);
  if (options.pairs) add_pairs(calm, all);
  return all;
}

std::vector<std::string> compare_with_calm(const RunSummary& run, const RunSummary& calm) {
  std::vector<std::string> wrong = run.violations;
  for (const auto& text : run.disappointments) wrong.push_back(text);
  for (const auto& text : differences(run.end, calm.end)) wrong.push_back(text);
  return wrong;
}

namespace {

// Runs the calm one, and then each of those that `places` makes of it.
ExhaustiveReport explore(
    const Scenario& scenario, const ExhaustiveOptions& options,
    const std::function<std::vector<Disturbances>(const RunSummary& calm)>& places,
    size_t most_findings) {
  ExhaustiveReport report;
  report.scenario = scenario.name;
  RunOptions run{options.seed, options.nodes, {}};
  RunSummary calm = run_scenario(scenario, run);
  report.writes = calm.writes;
  for (const auto& [resource, events] : calm.sightings) report.sightings += events;
  report.runs = 1;
  if (auto wrong = compare_with_calm(calm, calm); !wrong.empty()) {
    report.findings.push_back({{}, std::move(wrong), std::move(calm.last_events)});
    return report;
  }
  for (auto& disturbances : places(calm)) {
    run.disturbances = disturbances;
    ++report.runs;
    RunSummary disturbed = run_scenario(scenario, run);
    auto wrong = compare_with_calm(disturbed, calm);
    if (wrong.empty()) continue;
    report.findings.push_back(
        {std::move(disturbances), std::move(wrong), std::move(disturbed.last_events)});
    if (report.findings.size() >= most_findings) break;
  }
  return report;
}

}  // namespace

ExhaustiveReport explore_all(const Scenario& scenario, const ExhaustiveOptions& options,
                             size_t most_findings) {
  return explore(
      scenario, options, [&](const RunSummary& calm) { return every_disturbance(calm, options); },
      most_findings);
}

namespace {

// A place that the calm run does not come to would disturb nothing, and prove nothing.
Result<void> check_places(const RunSummary& calm, const Disturbances& disturbances) {
  for (const Crash& crash : disturbances.crashes) {
    if (crash.after_write <= calm.writes) continue;
    return fail(Error{ErrorKind::invalid,
                      fmt::format("there is no write {}: the controller makes {} in this scenario",
                                  crash.after_write, calm.writes),
                      "--crash-after"});
  }
  for (const Freeze& freeze : disturbances.freezes) {
    auto seen = calm.sightings.find(freeze.resource);
    if (seen != calm.sightings.end() && freeze.from_event <= seen->second) continue;
    std::vector<std::string> places;
    for (const auto& [resource, events] : calm.sightings) {
      places.push_back(fmt::format("{}:{}", resource, events));
    }
    return fail(Error{ErrorKind::invalid,
                      fmt::format("the controller sees no event {}:{} in this scenario; the last "
                                  "of each resource are {}",
                                  freeze.resource, freeze.from_event, join(places, ", ")),
                      "--freeze"});
  }
  return {};
}

}  // namespace

Result<ExhaustiveReport> explore_one(const Scenario& scenario, const ExhaustiveOptions& options,
                                     const Disturbances& disturbances) {
  Result<void> there;
  auto places = [&](const RunSummary& calm) {
    there = check_places(calm, disturbances);
    return there ? std::vector{disturbances} : std::vector<Disturbances>{};
  };
  ExhaustiveReport report = explore(scenario, options, places, 1);
  if (!there) return fail(there.error());
  return report;
}

std::string flags_of(const Disturbances& disturbances) {
  std::string flags;
  for (const Crash& crash : disturbances.crashes) {
    flags += fmt::format(" --crash-after {}", crash.after_write);
    if (crash.away > Duration(0)) flags += fmt::format("+{:.0f}s", in_seconds(crash.away));
  }
  for (const Freeze& freeze : disturbances.freezes) {
    flags += fmt::format(" --freeze {}:{}+{:.0f}s{}", freeze.resource, freeze.from_event,
                         in_seconds(freeze.length), freeze.crash ? "!" : "");
  }
  return flags.empty() ? flags : flags.substr(1);
}

namespace {

struct Numbered {
  uint64_t number = 0;
  std::optional<Duration> length;
};

Result<Numbered> read_numbered(std::string_view text, std::string_view flag) {
  size_t plus = text.find('+');
  auto number = parse_unsigned(text.substr(0, plus));
  Numbered read;
  if (plus != std::string_view::npos && text.ends_with('s')) {
    auto length = parse_unsigned(text.substr(plus + 1, text.size() - plus - 2));
    if (length) read.length = seconds(static_cast<int64_t>(*length));
  }
  if (!number || *number == 0 || (plus != std::string_view::npos && !read.length)) {
    return fail(
        Error{ErrorKind::invalid,
              fmt::format("\"{}\" is no number from 1 on, with \"+60s\" after it if need be", text),
              std::string(flag)});
  }
  read.number = *number;
  return read;
}

}  // namespace

Result<Crash> read_crash(std::string_view text) {
  LOCKSTEP_TRY(Numbered read, read_numbered(text, "--crash-after"));
  return Crash{read.number, read.length.value_or(Duration(0))};
}

Result<Freeze> read_freeze(std::string_view text) {
  Freeze freeze;
  if (text.ends_with('!')) {
    freeze.crash = true;
    text.remove_suffix(1);
  }
  size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon == 0) {
    return fail(Error{ErrorKind::invalid,
                      fmt::format("\"{}\" is not like \"pods:7\": a resource and the number of the "
                                  "first event that comes late",
                                  text),
                      "--freeze"});
  }
  LOCKSTEP_TRY(Numbered read, read_numbered(text.substr(colon + 1), "--freeze"));
  freeze.resource = std::string(text.substr(0, colon));
  freeze.from_event = read.number;
  if (read.length) freeze.length = *read.length;
  return freeze;
}

}  // namespace lockstep::sim

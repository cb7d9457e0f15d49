#include "sim/expectations_reader.h"

#include <utility>

#include <fmt/format.h>

#include "base/strings.h"
#include "rollout/rollout_status.h"
#include "sim/reason_names.h"
#include "sim/strict_reader.h"

namespace lockstep::sim {

namespace {

using Errors = std::optional<Error>;

void complain(Errors& error, const std::string& path, std::string what) {
  if (!error) error = Error{ErrorKind::invalid, std::move(what), path};
}

void read_done(const Json& json, const std::string& path, Expectations& expect, Errors& error) {
  if (json.is_int64() && json.get_int64() >= 0) {
    expect.done_count = json.get_int64();
    return;
  }
  std::string word(as_text(&json));
  if (word == "all" || word == "none" || word == "rest") {
    expect.done = word;
    return;
  }
  complain(error, path, "must be all, none, rest or a whole number");
}

std::vector<std::string> read_texts(const Json& json, const std::string& path, Errors& error) {
  std::vector<std::string> texts;
  if (!json.is_array()) {
    complain(error, path, "must be a list of texts");
    return texts;
  }
  for (const auto& entry : json.get_array()) {
    if (!entry.is_string()) complain(error, path, "must be a list of texts");
    texts.emplace_back(as_text(&entry));
  }
  return texts;
}

std::vector<fleet::State> read_states(const Json& json, const std::string& path, Errors& error) {
  std::vector<fleet::State> states;
  if (!json.is_array()) {
    complain(error, path, "must be a list of states");
    return states;
  }
  for (const auto& entry : json.get_array()) states.push_back(read_state(entry, path, error));
  return states;
}

std::map<std::string, int64_t> read_versions(const Json& json, const std::string& path,
                                             Errors& error) {
  std::map<std::string, int64_t> versions;
  if (!json.is_object()) {
    complain(error, path, "must be a map of versions to numbers of nodes");
    return versions;
  }
  for (const auto& [version, count] : json.get_object()) {
    if (!count.is_int64()) complain(error, path, "must be a map of versions to numbers of nodes");
    versions[std::string(version)] = as_integer(&count);
  }
  return versions;
}

}  // namespace

NodeChoice read_choice(const Json& json, const std::string& path, Errors& error) {
  NodeChoice choice;
  if (json.is_array()) {
    for (const auto& number : json.get_array()) {
      if (number.is_int64() && number.get_int64() >= 1 && number.get_int64() <= 1'000'000) {
        choice.numbers.push_back(static_cast<int>(number.get_int64()));
      } else {
        complain(error, path, "must be numbers of nodes: 1 is the first");
      }
    }
    return choice;
  }
  if (json.is_string() && json.get_string() == "all") {
    choice.every = 1;
    return choice;
  }
  if (!json.is_object() || json.get_object().empty()) {
    complain(error, path, "must be a list of numbers, all, {first: n} or {every: n}");
    return choice;
  }
  StrictReader reader(json, path, error);
  reader.number("first", choice.first, 1);
  reader.number("every", choice.every, 1);
  return choice;
}

NodeChoice read_some_nodes(const Json& json, const std::string& path, Errors& error) {
  if (json.is_array() && json.get_array().empty()) {
    complain(error, path, "names no node: say which, or all");
  }
  return read_choice(json, path, error);
}

std::vector<std::string> phase_names() {
  std::vector<std::string> names;
  for (int i = 0; i <= static_cast<int>(rollout::Phase::rolled_back); ++i) {
    names.emplace_back(to_string(static_cast<rollout::Phase>(i)));
  }
  return names;
}

fleet::State read_state(const Json& json, const std::string& path, Errors& error) {
  std::vector<std::string> known;
  for (fleet::State state : fleet::all_states) {
    if (state == fleet::State::unknown) continue;
    if (as_text(&json) == to_string(state)) return state;
    known.emplace_back(to_string(state));
  }
  std::string name = json.is_string() ? std::string(json.get_string()) : print_json(json);
  auto near = nearest(name, known);
  complain(error, path,
           fmt::format("{} is no state of a node{}", name,
                       near ? "; did you mean " + *near + "?" : ": " + join(known, ", ")));
  return fleet::State::unknown;
}

Expectations read_expectations(const Json& json, const std::string& path, Errors& error) {
  Expectations expect;
  StrictReader reader(json, path, error);
  if (const Json* done = reader.get("done")) read_done(*done, path + ".done", expect, error);
  auto choice = [&](const std::string& key, std::optional<NodeChoice>& into) {
    if (const Json* value = reader.get(key)) into = read_choice(*value, path + "." + key, error);
  };
  auto count = [&](const std::string& key, std::optional<int64_t>& into) {
    if (reader.get(key) == nullptr) return;
    int64_t value = 0;
    reader.number(key, value);
    into = value;
  };
  auto states = [&](const std::string& key, std::vector<fleet::State>& into) {
    if (const Json* value = reader.get(key)) into = read_states(*value, path + "." + key, error);
  };
  auto text = [&](const std::string& key, std::optional<std::string>& into) {
    reader.maybe(key, into, &StrictReader::text);
  };
  auto word = [&](const std::string& key, std::optional<std::string>& into,
                  const std::vector<std::string>& known, std::string_view what) {
    if (reader.get(key) == nullptr) return;
    reader.word(key, into.emplace(), known, what);
  };
  // "false" would ask for nothing, and read as if it asked for the opposite.
  auto yes = [&](const std::string& key, std::optional<bool>& into) {
    reader.maybe(key, into, &StrictReader::flag);
    if (into && !*into) complain(error, path + "." + key, "must be true, or left out");
  };
  count("failed", expect.failed);
  choice("failedNodes", expect.failed_nodes);
  word("failedWith", expect.failed_with, reason_names(), "reason of docs/TROUBLESHOOTING.md");
  text("failureSays", expect.failure_says);
  yes("failuresTold", expect.failures_told);
  choice("cordoned", expect.cordoned);
  text("version", expect.version);
  if (const Json* versions = reader.get("versions")) {
    expect.versions = read_versions(*versions, path + ".versions", error);
  }
  word("waitingFor", expect.waiting_for, reason_names(), "reason of docs/TROUBLESHOOTING.md");
  choice("waitingNodes", expect.waiting_nodes);
  states("entered", expect.entered);
  states("neverEntered", expect.never_entered);
  count("evictions", expect.evictions);
  count("evictionsAtLeast", expect.evictions_at_least);
  count("driverRestarts", expect.driver_restarts);
  text("claimsFailWith", expect.claims_fail_with);
  choice("claimsFailOn", expect.claims_fail_on);
  text("claimsFailedWith", expect.claims_failed_with);
  yes("claimsHealthy", expect.claims_healthy);
  yes("claimsHealed", expect.claims_healed);
  yes("workRuns", expect.work_runs);
  if (const Json* failed = reader.get("workFailed")) {
    expect.work_failed = read_texts(*failed, path + ".workFailed", error);
  }
  yes("unchanged", expect.unchanged);
  word("rolloutPhase", expect.rollout_phase, phase_names(), "phase of a rollout");
  word("rolloutReason", expect.rollout_reason, reason_names(), "reason of docs/TROUBLESHOOTING.md");
  text("rolloutSays", expect.rollout_says);
  count("wavesOpened", expect.waves_opened);
  yes("rolloutSettled", expect.rollout_settled);
  yes("asPlanned", expect.as_planned);
  if (const Json* commits = reader.get("commits")) {
    expect.commits = read_texts(*commits, path + ".commits", error);
  }
  word("hookEnds", expect.hook_ends, {"rerolled", "nothing-to-do", "failed", "running"},
       "end of the hook");
  text("hookSays", expect.hook_says);
  reader.maybe("makespanAtMost", expect.makespan_at_most, &StrictReader::decimal);
  reader.maybe("writesPerNodeAtMost", expect.writes_per_node_at_most, &StrictReader::decimal);
  return expect;
}

}  // namespace lockstep::sim

#include "sim/scenario/expectations_reader.h"

#include <utility>

#include "rollout/rollout_status.h"

namespace lockstep::sim {

namespace {

std::vector<std::string> reason_names() {
  std::vector<std::string> names;
  for (const fleet::ReasonRow& row : fleet::all_reasons()) names.emplace_back(row.name);
  return names;
}

void read_done(StrictReader& done, Expectations& expect) {
  const Json& json = done.json();
  std::string word(as_text(&json));
  if (json.is_int64() && json.get_int64() >= 0) {
    expect.done_count = json.get_int64();
  } else if (word == "all" || word == "none" || word == "rest") {
    expect.done = word;
  } else {
    done.refuse(strict::not_one("all, none, rest or a whole number", json).message);
  }
}

void read_states(StrictReader& reader, std::string_view key, std::vector<fleet::State>& states) {
  reader.items(key, [&](StrictReader& state) { states.push_back(read_state(state)); });
}

void read_versions(StrictReader& versions, std::map<std::string, int64_t>& counts) {
  versions.entries([&](const std::string& version, StrictReader& count) {
    count.read(counts[version], [](const Json& json) { return strict::number(json); });
  });
}

}  // namespace

NodeChoice read_choice(StrictReader& reader) {
  NodeChoice choice;
  const Json& json = reader.json();
  if (json.is_array()) {
    constexpr int64_t most = 1'000'000;
    reader.as_list([&](StrictReader& number) {
      // The first is 1.
      number.read(choice.numbers.emplace_back(),
                  [](const Json& value) { return strict::number(value, 1, most); });
    });
  } else if (json.is_string() && json.get_string() == "all") {
    choice.every = 1;
  } else if (json.is_object() && !json.get_object().empty()) {
    reader.as_map([&](StrictReader& map) {
      map.number("first", choice.first, 1).number("every", choice.every, 1);
    });
  } else {
    reader.refuse(
        strict::not_one("a list of numbers, all, {first: n} or {every: n}", json).message);
  }
  return choice;
}

NodeChoice read_some_nodes(StrictReader& reader) {
  if (reader.json().is_array() && reader.json().get_array().empty()) {
    reader.refuse("names no node; write which, or all");
  }
  return read_choice(reader);
}

std::vector<std::string> phase_names() {
  std::vector<std::string> names;
  for (int i = 0; i <= static_cast<int>(rollout::Phase::rolled_back); ++i) {
    names.emplace_back(to_string(static_cast<rollout::Phase>(i)));
  }
  return names;
}

fleet::State read_state(StrictReader& reader) {
  std::vector<std::pair<std::string_view, fleet::State>> known;
  for (fleet::State state : fleet::all_states) {
    if (state != fleet::State::unknown) known.emplace_back(to_string(state), state);
  }
  fleet::State state = fleet::State::unknown;
  reader.read(state, [&](const Json& json) { return strict::value_of<fleet::State>(json, known); });
  return state;
}

Expectations read_expectations(StrictReader& expectations) {
  Expectations expect;
  expectations.as_map([&](StrictReader& reader) {
    auto choice = [&](std::string_view key, std::optional<NodeChoice>& into) {
      reader.any(key, [&](StrictReader& nodes) { into = read_choice(nodes); });
    };
    auto texts = [&](std::string_view key, std::optional<std::vector<std::string>>& into) {
      reader.any(key, [&](StrictReader& list) { list.texts(into.emplace()); });
    };
    // "false" would check nothing, and read as if it checked the opposite.
    auto yes = [&](std::string_view key, std::optional<bool>& into) {
      reader.flag(key, into);
      if (into && !*into) reader.refuse(key, "must be true; remove it to expect nothing");
    };
    auto reason = [&](std::string_view key, std::optional<fleet::ReasonName>& into) {
      std::optional<std::string> name;
      reader.word(key, name, reason_names());
      if (name) into = fleet::ReasonName::read(*name);
    };
    reader.any("done", [&](StrictReader& done) { read_done(done, expect); });
    reader.number("failed", expect.failed);
    choice("failedNodes", expect.failed_nodes);
    reason("failedWith", expect.failed_with);
    reader.text("failureSays", expect.failure_says);
    yes("failuresTold", expect.failures_told);
    choice("cordoned", expect.cordoned);
    reader.text("version", expect.version);
    reader.any("versions",
               [&](StrictReader& versions) { read_versions(versions, expect.versions.emplace()); });
    reason("waitingFor", expect.waiting_for);
    choice("waitingNodes", expect.waiting_nodes);
    read_states(reader, "entered", expect.entered);
    read_states(reader, "neverEntered", expect.never_entered);
    reader.number("evictions", expect.evictions);
    reader.number("evictionsAtLeast", expect.evictions_at_least);
    reader.number("driverRestarts", expect.driver_restarts);
    reader.text("claimsFailWith", expect.claims_fail_with);
    choice("claimsFailOn", expect.claims_fail_on);
    reader.text("claimsFailedWith", expect.claims_failed_with);
    yes("claimsHealthy", expect.claims_healthy);
    yes("claimsHealed", expect.claims_healed);
    yes("workRuns", expect.work_runs);
    texts("workFailed", expect.work_failed);
    yes("unchanged", expect.unchanged);
    reader.word("rolloutPhase", expect.rollout_phase, phase_names());
    reason("rolloutReason", expect.rollout_reason);
    reader.text("rolloutSays", expect.rollout_says);
    reader.number("wavesOpened", expect.waves_opened);
    yes("rolloutSettled", expect.rollout_settled);
    yes("asPlanned", expect.as_planned);
    texts("commits", expect.commits);
    reader.word("hookEnds", expect.hook_ends, {"rerolled", "nothing-to-do", "failed", "running"});
    reader.text("hookSays", expect.hook_says);
    reader.decimal("makespanAtMost", expect.makespan_at_most);
    reader.decimal("writesPerNodeAtMost", expect.writes_per_node_at_most);
  });
  return expect;
}

}  // namespace lockstep::sim

#include "sim/scenario/expectations.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/strings.h"
#include "rollout/rollout_status.h"
#include "sim/actors/driver_image.h"
#include "sim/actors/object_facts.h"
#include "sim/scenario/rollout_part.h"

namespace lockstep::sim {

namespace {

using fleet::State;

struct NodeEnd {
  std::string name;
  State state = State::unknown;
  bool unschedulable = false;
  fleet::ReasonName failure;
  std::string sentence;  // what the failure says
};

std::vector<NodeEnd> look_at_nodes(Cluster& cluster, const fleet::Keys& keys) {
  std::vector<NodeEnd> ends;
  for (const Document& node : cluster.list(resource::nodes)) {
    NodeEnd end;
    end.name = std::string(text_at(*node, "metadata", "name"));
    if (const Json* labels = find(*node, "metadata", "labels")) {
      end.state = fleet::state_of(as_text(find(*labels, keys.state)));
    }
    end.unschedulable = as_bool(find(*node, "spec", "unschedulable"));
    if (auto failure = failure_of(*node)) {
      end.failure = failure->name;
      end.sentence = failure->line();
    }
    ends.push_back(std::move(end));
  }
  return ends;
}

class Checker {
 public:
  explicit Checker(const EndState& end)
      : end_(end),
        expect_(end.expect),
        nodes_(look_at_nodes(end.cluster, end.witness.truth().keys())) {}

  std::vector<std::string> check() {
    check_counts();
    check_failures();
    check_cordons();
    check_versions();
    check_waiting();
    check_states();
    check_health();
    check_failing_claims();
    check_work();
    check_cost();
    check_rollout();
    check_commits();
    check_hook();
    return std::move(wrong_);
  }

 private:
  void expect_equal(std::string_view what, int64_t expected, int64_t seen) {
    if (expected != seen)
      wrong_.push_back(fmt::format("{}: expected {}, saw {}", what, expected, seen));
  }

  void check_counts() {
    const RunSummary& summary = end_.summary;
    if (expect_.done_count) expect_equal("done", *expect_.done_count, summary.done);
    // All that are left: some may have been taken away.
    auto nodes = static_cast<int64_t>(nodes_.size());
    if (expect_.done == "all") expect_equal("done", nodes, summary.done);
    if (expect_.done == "none") expect_equal("done", 0, summary.done);
    if (expect_.done == "rest") {
      expect_equal("done", nodes - summary.failed - count(State::required), summary.done);
    }
    if (expect_.failed) expect_equal("failed", *expect_.failed, summary.failed);
    if (expect_.evictions) {
      expect_equal("evictions", *expect_.evictions, static_cast<int64_t>(summary.evictions));
    }
    if (expect_.evictions_at_least &&
        static_cast<int64_t>(summary.evictions) < *expect_.evictions_at_least) {
      wrong_.push_back(fmt::format("evictions: expected at least {}, saw {}",
                                   *expect_.evictions_at_least, summary.evictions));
    }
    if (expect_.driver_restarts) {
      expect_equal("driver restarts", *expect_.driver_restarts, end_.driver_restarts);
    }
    if (expect_.unchanged) expect_equal("writes", 0, static_cast<int64_t>(end_.writes_since));
  }

  void check_rollout() {
    bool asked = expect_.rollout_phase || expect_.rollout_reason || expect_.rollout_says ||
                 expect_.waves_opened || expect_.rollout_settled;
    if (!asked) return;
    Document object = end_.cluster.get(fleet::driver_rollouts, {"", std::string(rollout_name)});
    if (!object) {
      wrong_.push_back("there is no rollout");
      return;
    }
    rollout::RolloutStatus status = rollout::read_rollout_status(*object);
    auto differs = [&](std::string_view what, std::string_view expected, std::string_view seen) {
      wrong_.push_back(fmt::format("rollout {}: expected {}, saw {} ({}: {})", what, expected, seen,
                                   status.reason.view(), status.message));
    };
    if (expect_.rollout_phase && *expect_.rollout_phase != to_string(status.phase)) {
      differs("phase", *expect_.rollout_phase, to_string(status.phase));
    }
    if (expect_.rollout_reason && *expect_.rollout_reason != status.reason) {
      differs("reason", expect_.rollout_reason->view(), status.reason.view());
    }
    if (expect_.waves_opened) {
      int64_t opened =
          std::count_if(status.waves.begin(), status.waves.end(),
                        [](const rollout::WaveStatus& wave) { return wave.opened.is_set(); });
      expect_equal("waves opened", *expect_.waves_opened, opened);
    }
    if (expect_.rollout_settled) check_settled(status);
    if (!expect_.rollout_says) return;
    bool says = status.message.find(*expect_.rollout_says) != std::string::npos;
    for (const rollout::WaveStatus& wave : status.waves) {
      says |= wave.verdict_text.find(*expect_.rollout_says) != std::string::npos;
    }
    for (const rollout::HistoryEntry& entry : status.history) {
      says |= entry.text.find(*expect_.rollout_says) != std::string::npos;
    }
    if (!says) {
      wrong_.push_back(fmt::format("the rollout does not say \"{}\" but \"{}\"",
                                   *expect_.rollout_says, status.message));
    }
  }

  void check_settled(const rollout::RolloutStatus& status) {
    using rollout::Phase;
    bool is_silent = status.reason.empty() || status.message.empty();
    switch (status.phase) {
      case Phase::pending:
        return;
      case Phase::held:
        if (is_silent) wrong_.push_back("the rollout is held and does not say why");
        return;
      case Phase::complete:
      case Phase::rolled_back:
        check_settled_nodes(status.phase == Phase::complete ? status.stable : status.from);
        return;
      default:
        wrong_.push_back(fmt::format("the rollout is still {} ({}: {})", to_string(status.phase),
                                     status.reason.view(), status.message));
    }
  }

  // Except for those that a user skips.
  void check_settled_nodes(const rollout::DriverRevision& revision) {
    for (const NodeEnd& node : nodes_) {
      Document object = end_.cluster.get(resource::nodes, {"", node.name});
      if (!object || is_skipped_node(*object)) continue;
      const Machine& machine = end_.cluster.kubelets().machine(node.name);
      if (machine.loaded() && machine.version() == loaded_version(revision.version)) continue;
      wrong_.push_back(fmt::format("the rollout ended with {}, and {} runs {}", revision.version,
                                   node.name, machine.loaded() ? machine.version() : "nothing"));
    }
  }

  void check_hook() {
    if (expect_.hook_ends && *expect_.hook_ends != end_.hook_end) {
      wrong_.push_back(fmt::format("the hook: expected {}, saw {}: {}", *expect_.hook_ends,
                                   end_.hook_end.empty() ? "none" : end_.hook_end, end_.hook_text));
    }
    if (expect_.hook_says && end_.hook_text.find(*expect_.hook_says) == std::string::npos) {
      wrong_.push_back(fmt::format("the hook does not say \"{}\" but \"{}\"", *expect_.hook_says,
                                   end_.hook_text));
    }
  }

  void check_commits() {
    if (!expect_.commits) return;
    const std::vector<std::string>& made = end_.summary.commits;
    expect_equal("commits", static_cast<int64_t>(expect_.commits->size()),
                 static_cast<int64_t>(made.size()));
    for (size_t i = 0; i < std::min(made.size(), expect_.commits->size()); ++i) {
      if (made[i].find((*expect_.commits)[i]) != std::string::npos) continue;
      wrong_.push_back(fmt::format("commit {} does not say \"{}\" but \"{}\"", i + 1,
                                   (*expect_.commits)[i], made[i]));
    }
  }

  int64_t count(State state) const {
    return std::count_if(nodes_.begin(), nodes_.end(),
                         [&](const NodeEnd& node) { return node.state == state; });
  }

  void expect_same_nodes(std::string_view what, const NodeChoice& choice,
                         const std::set<std::string>& seen) {
    auto names = choice.names(static_cast<int>(end_.summary.nodes));
    std::set<std::string> expected(names.begin(), names.end());
    if (expected == seen) return;
    wrong_.push_back(fmt::format("{}: expected {}, saw {}", what, list(expected), list(seen)));
  }

  static std::string list(const std::set<std::string>& names) {
    if (names.empty()) return "none";
    return join(std::vector<std::string>(names.begin(), names.end()), " ");
  }

  void check_failures() {
    std::set<std::string> failed;
    for (const auto& node : nodes_) {
      if (node.state != State::failed) continue;
      failed.insert(node.name);
      if (expect_.failed_with && node.failure != *expect_.failed_with) {
        wrong_.push_back(fmt::format("{} failed with {}, expected {}", node.name,
                                     node.failure.view(), expect_.failed_with->view()));
      }
      if (expect_.failure_says && node.sentence.find(*expect_.failure_says) == std::string::npos) {
        wrong_.push_back(fmt::format("{} failed with \"{}\", which does not say \"{}\"", node.name,
                                     node.sentence, *expect_.failure_says));
      }
    }
    if (expect_.failures_told) check_warnings();
    if (expect_.failed_with && failed.empty()) {
      wrong_.push_back(fmt::format("no node failed, expected {}", expect_.failed_with->view()));
    }
    if (expect_.failed_nodes) expect_same_nodes("failed nodes", *expect_.failed_nodes, failed);
  }

  // Of every failure there is one, however much else happened on the node.
  void check_warnings() {
    for (const NodeEnd& node : nodes_) {
      if (node.state != State::failed) continue;
      auto events = end_.cluster.list(resource::events);
      bool told = std::any_of(events.begin(), events.end(), [&](const Document& event) {
        return text_at(*event, "type") == "Warning" &&
               text_at(*event, "involvedObject", "name") == node.name &&
               text_at(*event, "message").find(node.failure.view()) != std::string_view::npos;
      });
      if (told) continue;
      wrong_.push_back(
          fmt::format("{} failed with {}, and no Warning says so", node.name, node.failure.view()));
    }
  }

  void check_cordons() {
    if (!expect_.cordoned) return;
    std::set<std::string> cordoned;
    for (const auto& node : nodes_) {
      if (node.unschedulable) cordoned.insert(node.name);
    }
    expect_same_nodes("cordoned nodes", *expect_.cordoned, cordoned);
  }

  void check_versions() {
    if (expect_.versions) check_version_counts(*expect_.versions);
    if (!expect_.version) return;
    for (const auto& node : nodes_) {
      if (node.state != State::done) continue;
      const Machine& machine = end_.cluster.kubelets().machine(node.name);
      if (machine.loaded() && machine.version() == *expect_.version) continue;
      wrong_.push_back(fmt::format("{} is done and its driver is {}, expected {}", node.name,
                                   machine.loaded() ? machine.version() : "not loaded",
                                   *expect_.version));
    }
  }

  void check_version_counts(const std::map<std::string, int64_t>& expected) {
    std::map<std::string, int64_t> seen;
    for (const auto& node : nodes_) {
      const Machine& machine = end_.cluster.kubelets().machine(node.name);
      if (machine.loaded()) ++seen[machine.version()];
    }
    for (const auto& [version, count] : expected) {
      expect_equal(fmt::format("nodes with driver {}", version), count, seen[version]);
    }
    for (const auto& [version, count] : seen) {
      if (expected.contains(version)) continue;
      expect_equal(fmt::format("nodes with driver {}", version), 0, count);
    }
  }

  void check_waiting() {
    std::set<std::string> waiting;
    for (const auto& node : nodes_) {
      if (node.state == State::done || node.state == State::failed) continue;
      waiting.insert(node.name);
      auto reason = end_.reasons.find(node.name);
      fleet::ReasonName name;
      if (reason != end_.reasons.end()) name = reason->second.name;
      if (expect_.waiting_for && name != *expect_.waiting_for) {
        wrong_.push_back(fmt::format("{} waits for {}, expected {}", node.name,
                                     name.empty() ? "nothing" : name.view(),
                                     expect_.waiting_for->view()));
      }
    }
    if (expect_.waiting_for && waiting.empty()) {
      wrong_.push_back(fmt::format("no node waits, expected {}", expect_.waiting_for->view()));
    }
    if (expect_.waiting_nodes) expect_same_nodes("waiting nodes", *expect_.waiting_nodes, waiting);
  }

  void check_states() {
    for (State state : expect_.entered) {
      if (end_.witness.reached(state) > 0) continue;
      wrong_.push_back(fmt::format("no node was ever in {}", fleet::display_name(state)));
    }
    for (State state : expect_.never_entered) {
      if (end_.witness.reached(state) == 0) continue;
      wrong_.push_back(fmt::format("{} nodes were in {}, expected none",
                                   end_.witness.reached(state), fleet::display_name(state)));
    }
  }

  const Preparations& preparations() const { return end_.cluster.kubelets().preparations(); }

  void expect_some_prepared() {
    const auto& all = preparations().all();
    if (std::none_of(all.begin(), all.end(),
                     [](const Preparation& attempt) { return attempt.error.empty(); })) {
      wrong_.push_back("no claim was ever prepared: nothing was shown");
    }
  }

  // Attempts that failed after their node had come back from its upgrade.
  std::vector<Preparation> failed_after_return() const {
    std::vector<Preparation> failed;
    for (const auto& [node, time] : end_.witness.returned()) {
      for (const auto& attempt : preparations().failed_after(node, time)) failed.push_back(attempt);
    }
    return failed;
  }

  // What fails is tried again within two minutes.
  std::vector<Preparation> failing_now() const {
    Time late = end_.cluster.loop.now() - minutes(3);
    std::vector<Preparation> failing;
    for (const auto& attempt : preparations().all()) {
      if (attempt.at >= late && !attempt.error.empty()) failing.push_back(attempt);
    }
    return failing;
  }

  void check_health() {
    if (expect_.claims_healthy) {
      expect_some_prepared();
      for (const auto& attempt : failed_after_return()) {
        wrong_.push_back(fmt::format("{} could not prepare a claim after it came back: {}",
                                     attempt.node, attempt.error));
      }
    }
    if (expect_.claims_healed) {
      expect_some_prepared();
      for (const auto& attempt : failing_now()) {
        wrong_.push_back(
            fmt::format("{} still cannot prepare a claim: {}", attempt.node, attempt.error));
      }
    }
  }

  void check_failing_claims() {
    auto says = [](const std::vector<Preparation>& attempts, const std::string& text) {
      return std::any_of(attempts.begin(), attempts.end(), [&](const Preparation& attempt) {
        return attempt.error.find(text) != std::string::npos;
      });
    };
    std::vector<Preparation> failing = failing_now();
    if (expect_.claims_fail_with && !says(failing, *expect_.claims_fail_with)) {
      wrong_.push_back(
          fmt::format("no claim fails at the end with \"{}\"", *expect_.claims_fail_with));
    }
    if (expect_.claims_failed_with && !says(failed_after_return(), *expect_.claims_failed_with)) {
      wrong_.push_back(fmt::format("no claim ever failed with \"{}\" on a node that came back",
                                   *expect_.claims_failed_with));
    }
    if (expect_.claims_fail_on) {
      std::set<std::string> nodes;
      for (const auto& attempt : failing) nodes.insert(attempt.node);
      expect_same_nodes("nodes where claims fail", *expect_.claims_fail_on, nodes);
    }
  }

  void check_work() {
    auto pods = end_.cluster.list(resource::pods, "ml-training");
    if (expect_.work_failed) {
      std::set<std::string> expected(expect_.work_failed->begin(), expect_.work_failed->end());
      std::set<std::string> failed;
      for (const Document& pod : pods) {
        if (text_at(*pod, "status", "phase") != "Failed") continue;
        failed.emplace(text_at(*pod, "metadata", "name"));
      }
      if (failed != expected) {
        wrong_.push_back(
            fmt::format("failed work: expected {}, saw {}", list(expected), list(failed)));
      }
    }
    if (!expect_.work_runs) return;
    if (pods.empty()) wrong_.push_back("there is no work: nothing was shown");
    for (const Document& pod : pods) {
      std::string_view phase = text_at(*pod, "status", "phase");
      if (phase == "Running" || phase == "Succeeded") continue;
      wrong_.push_back(
          fmt::format("{} is {}, expected it to run", text_at(*pod, "metadata", "name"), phase));
    }
  }

  void check_cost() {
    const RunSummary& summary = end_.summary;
    if (expect_.makespan_at_most &&
        summary.virtual_seconds > *expect_.makespan_at_most * summary.ideal_seconds) {
      wrong_.push_back(fmt::format("it took {:.0f} s, more than {} x the ideal of {:.0f} s",
                                   summary.virtual_seconds, *expect_.makespan_at_most,
                                   summary.ideal_seconds));
    }
    double writes = static_cast<double>(summary.node_writes) / static_cast<double>(summary.nodes);
    if (expect_.writes_per_node_at_most && writes > *expect_.writes_per_node_at_most) {
      wrong_.push_back(fmt::format("{:.2f} writes per node, more than {}", writes,
                                   *expect_.writes_per_node_at_most));
    }
  }

  const EndState& end_;
  const Expectations& expect_;
  std::vector<NodeEnd> nodes_;
  std::vector<std::string> wrong_;
};

}  // namespace

std::vector<std::string> check_expectations(const EndState& end) { return Checker(end).check(); }

}  // namespace lockstep::sim

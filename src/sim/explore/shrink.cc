#include "sim/explore/shrink.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "sim/scenario/fault_reader.h"

namespace lockstep::sim {

namespace {

// Those of fewer nodes: a machine or step that names one which is no more goes with it.
Case with_nodes(const Case& of, int nodes) {
  Case smaller = of;
  smaller.options.nodes = 0;
  smaller.scenario.fleet.nodes = nodes;
  smaller.scenario.min_nodes = std::min(smaller.scenario.min_nodes, nodes);
  auto names_missing = [&](NodeChoice& choice) {
    std::erase_if(choice.numbers, [&](int number) { return number > nodes; });
    choice.first = std::min(choice.first, nodes);
    return choice.numbers.empty() && choice.first == 0 && choice.every == 0;
  };
  std::erase_if(smaller.scenario.machines,
                [&](auto& machine) { return names_missing(machine.first); });
  auto& steps = smaller.scenario.steps;
  for (size_t i = 0; i < steps.size();) {
    bool on_nodes = steps[i].nodes.highest() > 0 || steps[i].nodes.every > 0;
    if (on_nodes && names_missing(steps[i].nodes)) {
      steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
  if (!steps.empty()) steps.front().after.reset();
  return smaller;
}

// Without the end of its faults no run reaches its goal: it would fail for another reason.
bool is_needed(const Interference& step) {
  return step.action == "calm" || step.action == "heal" || step.action == "giveWay" || step.rest;
}
bool is_needed(const std::pair<NodeChoice, NodeBehaviour>&) { return false; }

class Shrinker {
 public:
  Shrinker(Case failing, const StillFails& still_fails, int most_tries)
      : best_(std::move(failing)), still_fails_(still_fails), most_tries_(most_tries) {}

  Shrunk run() {
    bool smaller = true;
    while (smaller && tries_ < most_tries_) {
      smaller = false;
      for (auto attempt :
           {&Shrinker::fewer_nodes, &Shrinker::fewer_steps, &Shrinker::fewer_machines,
            &Shrinker::fewer_disturbances, &Shrinker::fewer_faults, &Shrinker::less_work,
            &Shrinker::simpler_policy}) {
        smaller = (this->*attempt)() || smaller;
      }
    }
    return {std::move(best_), tries_};
  }

 private:
  bool try_case(Case candidate) {
    if (tries_ >= most_tries_) return false;
    ++tries_;
    if (!still_fails_(candidate)) return false;
    best_ = std::move(candidate);
    return true;
  }

  // Tries a change of the best case.
  template <typename Change>
  bool try_change(Change change) {
    Case candidate = best_;
    change(candidate);
    return try_case(std::move(candidate));
  }

  bool fewer_nodes() {
    bool any = false;
    for (int fewer : {best_.nodes() / 4, best_.nodes() / 2}) {
      if (fewer >= 1 && fewer < best_.nodes()) any = try_case(with_nodes(best_, fewer)) || any;
    }
    while (best_.nodes() > 1 && try_case(with_nodes(best_, best_.nodes() - 1))) any = true;
    return any;
  }

  // First half of them at once, then one by one from the end.
  template <typename List>
  bool fewer_of(List Scenario::* list, const std::function<void(List&)>& mend) {
    bool any = false;
    auto without = [&](size_t from, size_t count) {
      const List& now = best_.scenario.*list;
      for (size_t i = from; i < from + count; ++i) {
        if (is_needed(now[i])) return false;
      }
      return try_change([&](Case& candidate) {
        List& all = candidate.scenario.*list;
        auto begin = all.begin() + static_cast<std::ptrdiff_t>(from);
        all.erase(begin, begin + static_cast<std::ptrdiff_t>(count));
        mend(all);
      });
    };
    size_t size = (best_.scenario.*list).size();
    if (size > 3) any = without(0, size / 2) || without(size / 2, size - size / 2);
    for (size_t i = (best_.scenario.*list).size(); i > 0; --i) any = without(i - 1, 1) || any;
    return any;
  }

  bool fewer_steps() {
    using Steps = std::vector<Interference>;
    return fewer_of<Steps>(&Scenario::steps, [](Steps& steps) {
      if (!steps.empty()) steps.front().after.reset();
    });
  }

  bool fewer_machines() {
    using Machines = std::vector<std::pair<NodeChoice, NodeBehaviour>>;
    return fewer_of<Machines>(&Scenario::machines, [](Machines&) {});
  }

  bool fewer_disturbances() {
    bool any = false;
    for (size_t i = best_.options.disturbances.crashes.size(); i > 0; --i) {
      any = try_change([&](Case& candidate) {
              auto& crashes = candidate.options.disturbances.crashes;
              crashes.erase(crashes.begin() + static_cast<std::ptrdiff_t>(i - 1));
            }) ||
            any;
    }
    for (size_t i = best_.options.disturbances.freezes.size(); i > 0; --i) {
      any = try_change([&](Case& candidate) {
              auto& freezes = candidate.options.disturbances.freezes;
              freezes.erase(freezes.begin() + static_cast<std::ptrdiff_t>(i - 1));
            }) ||
            any;
    }
    return any;
  }

  bool fewer_faults() {
    bool any = false;
    for (double Scenario::* strength : {&Scenario::controller_faults, &Scenario::fleet_faults}) {
      if (best_.scenario.*strength <= 0) continue;
      any = try_change([&](Case& candidate) { candidate.scenario.*strength = 0; }) || any;
    }
    for (auto Scenario::* weights : {&Scenario::controller_weights, &Scenario::fleet_weights}) {
      any = fewer_weights(weights) || any;
    }
    if (best_.scenario.controllers > 1) {
      any = try_change([](Case& candidate) { candidate.scenario.controllers = 1; }) || any;
    }
    return any;
  }

  bool fewer_weights(std::optional<kube::FaultWeights> Scenario::* weights) {
    if (!(best_.scenario.*weights)) return false;
    if (try_change([&](Case& candidate) { (candidate.scenario.*weights).reset(); })) return true;
    bool any = false;
    for (const auto& [name, chance] : fault_chances()) {
      if ((*(best_.scenario.*weights)).*chance <= 0) continue;
      any = try_change([&, field = chance](Case& candidate) {
              (*(candidate.scenario.*weights)).*field = 0;
            }) ||
            any;
    }
    const kube::FaultWeights none;
    const kube::FaultWeights& now = *(best_.scenario.*weights);
    if (now.latency > none.latency || now.watch_lag > none.watch_lag || !now.watch_lag_of.empty()) {
      any = try_change([&](Case& candidate) {
              kube::FaultWeights& left = *(candidate.scenario.*weights);
              left.latency = left.watch_lag = Duration(0);
              left.watch_lag_of.clear();
            }) ||
            any;
    }
    return any;
  }

  bool less_work() {
    const WorkloadOptions none;
    bool any = false;
    for (int WorkloadOptions::* count :
         {&WorkloadOptions::deployment_replicas, &WorkloadOptions::min_available,
          &WorkloadOptions::job_pods, &WorkloadOptions::claim_pods,
          &WorkloadOptions::extended_pods}) {
      bool is_share = std::any_of(best_.scenario.shares.begin(), best_.scenario.shares.end(),
                                  [&](const auto& share) { return share.first == count; });
      if (best_.scenario.fleet.workloads.*count == none.*count && !is_share) continue;
      any = try_change([&](Case& candidate) {
              std::erase_if(candidate.scenario.shares,
                            [&](const auto& share) { return share.first == count; });
              candidate.scenario.fleet.workloads.*count = none.*count;
            }) ||
            any;
    }
    for (bool WorkloadOptions::* flag :
         {&WorkloadOptions::bare_pod, &WorkloadOptions::kept_pod, &WorkloadOptions::empty_dir_pod,
          &WorkloadOptions::daemon_set_pods}) {
      if (!(best_.scenario.fleet.workloads.*flag)) continue;
      any =
          try_change([&](Case& candidate) { candidate.scenario.fleet.workloads.*flag = false; }) ||
          any;
    }
    return any;
  }

  bool simpler_policy() {
    const Json& policy = best_.scenario.fleet.upgrade_policy;
    if (!policy.is_object()) return false;
    std::vector<std::string> keys;
    for (const auto& [key, value] : policy.get_object()) {
      if (key != "autoUpgrade") keys.emplace_back(key);
    }
    bool any = false;
    for (const auto& key : keys) {
      any = try_change([&](Case& candidate) {
              erase_key(candidate.scenario.fleet.upgrade_policy.as_object(), key);
            }) ||
            any;
    }
    return any;
  }

  Case best_;
  const StillFails& still_fails_;
  int most_tries_;
  int tries_ = 0;
};

}  // namespace

Shrunk shrink(Case failing, const StillFails& still_fails, int most_tries) {
  return Shrinker(std::move(failing), still_fails, most_tries).run();
}

}  // namespace lockstep::sim

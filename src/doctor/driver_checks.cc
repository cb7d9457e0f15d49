#include "doctor/driver_checks.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/strings.h"
#include "upgrade/deciding.h"

namespace lockstep::doctor {

namespace {

// Each once, with one of its nodes.
std::map<std::string, const fleet::NodeView*> driver_sets(const ClusterView& view) {
  std::map<std::string, const fleet::NodeView*> sets;
  for (const auto& node : view.nodes) {
    if (node.driver.set) sets.emplace(node.driver.set->meta.key().text(), &node);
  }
  return sets;
}

}  // namespace

bool manager_uncordons(const DaemonSet& driver_set) {
  const auto& containers = driver_set.pod_template.spec.init_containers;
  return std::any_of(containers.begin(), containers.end(), [](const Container& container) {
    if (container.image.view().find("k8s-driver-manager") == std::string_view::npos) return false;
    auto set_to_false = [](const EnvironmentVariable& variable) {
      return variable.name == "ENABLE_GPU_POD_EVICTION" && variable.value == "false";
    };
    return std::none_of(container.environment.begin(), container.environment.end(), set_to_false);
  });
}

std::string_view manager_fix() {
  return "kubectl patch clusterpolicy cluster-policy --type=merge -p "
         "'{\"spec\":{\"driver\":{\"manager\":{\"env\":["
         "{\"name\":\"ENABLE_GPU_POD_EVICTION\",\"value\":\"false\"},"
         "{\"name\":\"ENABLE_AUTO_DRAIN\",\"value\":\"false\"}]}}}}'";
}

Check check_driver_sets(const ClusterView& view) {
  const std::string name = "DriverDaemonSets";
  const auto sets = driver_sets(view);
  Check check{name, Verdict::wrong, ""};
  std::vector<std::string> fixes;
  for (const auto& [key, node] : sets) {
    if (!node->driver.is_rolled_by_kubernetes()) continue;
    fleet::Reason reason = upgrade::rolling_update_driver(*node);
    check.evidence.push_back(reason.line());
    fixes.push_back(std::move(reason.remedy));
  }
  if (check.evidence.empty()) {
    return fine(name, fmt::format("{} of drivers, updated only by the upgrade controller",
                                  counted(sets.size(), "DaemonSet")));
  }
  check.text = fmt::format(
      "Kubernetes itself restarts the drivers of {}, under running jobs; "
      "Lockstep starts no upgrade there",
      counted(check.evidence.size(), "DaemonSet"));
  check.fix = join(fixes, "; ");
  return check;
}

Check check_driver_manager(const ClusterView& view) {
  const std::string name = "DriverManager";
  Check check{name, Verdict::warning, ""};
  for (const auto& [key, node] : driver_sets(view)) {
    if (!manager_uncordons(*node->driver.set)) continue;
    check.evidence.push_back(
        fmt::format("{}: ENABLE_GPU_POD_EVICTION of k8s-driver-manager is not false", key));
  }
  if (check.evidence.empty()) return fine(name, "no driver-manager uncordons nodes");
  check.text =
      "NVIDIA's driver-manager evicts pods and uncordons the node at every reload of a driver, "
      "independently of the upgrade controller";
  check.fix = manager_fix();
  return check;
}

Check check_lookalikes(const ClusterView& view) {
  const std::string name = "LookalikeDriver";
  const std::string where = join(view.driver_namespaces, ", ");
  if (view.lookalikes.empty()) {
    return fine(name, fmt::format("only the driver in {} has its labels", where));
  }
  Check check{name, Verdict::warning, ""};
  std::set<std::string> with_driver;
  for (const auto& one : view.lookalikes) {
    const bool is_near = std::find(view.driver_namespaces.begin(), view.driver_namespaces.end(),
                                   one.key.ns) != view.driver_namespaces.end();
    check.evidence.push_back(fmt::format("{} {}: has the labels of {}{}", one.kind, one.key.text(),
                                         one.of, is_near ? ", and no DaemonSet controls it" : ""));
    if (one.kind == "DaemonSet" && one.of == "the GPU driver") with_driver.insert(one.key.ns);
  }
  const size_t count = check.evidence.size();
  check.text = fmt::format(
      "{} {} labels of the driver and {} not count as it (driver namespaces: {})",
      counted(count, "object"), count == 1 ? "has" : "have", count == 1 ? "does" : "do", where);
  const auto& first = view.lookalikes.front();
  check.fix = fmt::format("kubectl -n {} get {} {} -o yaml", first.key.ns, lower(first.kind),
                          first.key.name);
  if (!driver_sets(view).empty() || with_driver.empty()) return check;
  // As where the GPU Operator is installed in a namespace of another name.
  check.verdict = Verdict::wrong;
  check.text +=
      "; no driver DaemonSet exists, and no node is upgraded. If one of these is the driver, name "
      "its namespace";
  check.fix = fmt::format("lockstep install --driver-namespaces {}",
                          join({with_driver.begin(), with_driver.end()}, ","));
  return check;
}

Check check_policies(const ClusterView& view) {
  const std::string name = "Policies";
  Check check{name, Verdict::wrong, ""};
  size_t invalid = 0;
  size_t pruned = 0;
  for (const PolicyFacts& facts : view.policies) {
    for (const std::string& problem : facts.policy.problems) {
      ++invalid;
      check.evidence.push_back(fmt::format("{}: InvalidPolicy: {}", facts.policy.source, problem));
    }
    for (const std::string& field : facts.pruned) {
      ++pruned;
      check.evidence.push_back(
          fmt::format("{}: upgradePolicy.{} is in the manifest and not in the object: its CRD does "
                      "not define it",
                      facts.policy.source, field));
    }
    for (const std::string& warning : facts.policy.warnings) {
      check.evidence.push_back(fmt::format("{}: {}", facts.policy.source, warning));
    }
    if (pruned > 0 && check.fix.empty()) {
      check.fix = fmt::format("kubectl annotate {} --overwrite {}='{}: …'", facts.object,
                              fleet::policy_annotation, facts.pruned.front());
    }
  }
  if (check.evidence.empty()) {
    return fine(name, fmt::format("{} read, no unknown field",
                                  view.policies.size() == 1
                                      ? std::string("1 policy")
                                      : fmt::format("{} policies", view.policies.size())));
  }
  if (invalid == 0) check.verdict = Verdict::warning;
  check.text = invalid > 0  ? "a policy is invalid: no upgrade starts"
               : pruned > 0 ? "fields of a policy were dropped by the API server and do not apply"
                            : "a policy has unknown fields";
  if (invalid > 0 && check.fix.empty()) check.fix = "correct the policy; lockstep status names it";
  return check;
}

}  // namespace lockstep::doctor

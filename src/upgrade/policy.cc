#include "upgrade/policy.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "base/strings.h"
#include "data/strict_reader.h"
#include "data/yaml.h"
#include "fleet/keys.h"

namespace lockstep::upgrade {

namespace {

// Ten thousand years are enough, and do not overflow.
constexpr int64_t most_seconds = 4'000'000'000;
constexpr int64_t any_number = std::numeric_limits<int64_t>::max();

void read_seconds(StrictReader& reader, std::string_view key, Duration& into) {
  reader.read(key, into, [](const Json& json) -> Result<Duration> {
    LOCKSTEP_TRY(const int64_t count, strict::number(json, 0, most_seconds));
    return seconds(count);
  });
}

void read_share(StrictReader& reader, std::string_view key, IntOrPercent& into) {
  reader.read(key, into, [](const Json& json) -> Result<IntOrPercent> {
    auto share = IntOrPercent::from_json(json);
    if (share && share->value >= 0) return *share;
    return fail(strict::not_one("a whole number or a percentage such as \"25%\"", json));
  });
}

// An empty text means `if_empty`. One that cannot be read selects nothing: never more than was
// meant, or a drain would drain all.
void read_selector(StrictReader& reader, std::string_view key, LabelSelector& into,
                   const LabelSelector& if_empty = LabelSelector::nothing()) {
  if (!reader.has(key)) return (void)reader.get(key);
  into = LabelSelector::nothing();
  reader.read(key, into, [&](const Json& json) -> Result<LabelSelector> {
    LOCKSTEP_TRY(const std::string text, strict::text(json));
    if (trim(text).empty()) return if_empty;
    auto selector = LabelSelector::parse(text);
    if (selector) return selector;
    return failf(ErrorKind::invalid, "must be a label selector such as \"app=web\": {}",
                 selector.error().message);
  });
}

void read_wait(StrictReader& reader, WaitPolicy& wait) {
  read_seconds(reader, "timeoutSeconds", wait.timeout);
  read_selector(reader, "podSelector", wait.pods);
}

void read_eviction(StrictReader& reader, EvictionPolicy& eviction, const LabelSelector& if_empty) {
  reader.flag("force", eviction.force).flag("deleteEmptyDir", eviction.delete_empty_dir);
  read_seconds(reader, "timeoutSeconds", eviction.timeout);
  read_selector(reader, "podSelector", eviction.pods, if_empty);
}

void read_drain(StrictReader& reader, DrainPolicy& drain) {
  reader.flag("enable", drain.enable);
  read_eviction(reader, drain.eviction, LabelSelector{});
}

void read_deadlines(StrictReader& reader, Deadlines& deadlines) {
  read_seconds(reader, "restartSeconds", deadlines.restart);
  read_seconds(reader, "imagePullSeconds", deadlines.image_pull);
  read_seconds(reader, "validationSeconds", deadlines.validation);
  int64_t restarts = deadlines.restarts;
  reader.number("containerRestarts", restarts, 0, any_number);
  deadlines.restarts = static_cast<int32_t>(std::min<int64_t>(restarts, 1'000'000));
}

const Json* annotation(const Json& object, std::string_view key) {
  const Json* annotations = find(object, "metadata", "annotations");
  return annotations == nullptr ? nullptr : find(*annotations, key);
}

void read_fields(Policy& policy, StrictReader& reader) {
  reader.flag("autoUpgrade", policy.auto_upgrade);
  reader.number("maxParallelUpgrades", policy.max_parallel, 0, any_number);
  read_share(reader, "maxUnavailable", policy.max_unavailable);
  read_share(reader, "maxFailures", policy.max_failures);
  reader.choice("cordonedNodes", policy.cordoned_nodes,
                {{"wait", CordonedNodes::wait},
                 {"upgrade", CordonedNodes::upgrade},
                 {"ignore", CordonedNodes::ignore}});
  reader.within("waitForCompletion", [&](StrictReader& wait) { read_wait(wait, policy.wait); });
  // NVIDIA's documentation calls it gpuPodDeletion, its API does not.
  for (std::string_view key : {"gpuPodDeletion", "podDeletion"}) {
    reader.within(key, [&](StrictReader& deletion) {
      read_eviction(deletion, policy.pod_deletion, LabelSelector::nothing());
    });
  }
  reader.within("drain", [&](StrictReader& drain) { read_drain(drain, policy.drain); });
  reader.within("deadlines",
                [&](StrictReader& deadlines) { read_deadlines(deadlines, policy.deadlines); });
}

void read_policy_map(Policy& policy, const Json* json, std::string_view root) {
  if (json == nullptr || json->is_null()) return;
  Reading reading{std::string(root)};
  reading.map(*json, [&](StrictReader& reader) { read_fields(policy, reader); });
  for (const Mistake& mistake : reading.mistakes()) {
    (mistake.is_unknown_field ? policy.warnings : policy.problems).push_back(mistake.text());
  }
}

// What is laid over an upgradePolicy. True: it asks for upgrades.
bool read_more(Policy& policy, const Json* json, std::string_view path) {
  if (json == nullptr || json->is_null()) return false;
  read_policy_map(policy, json, path);
  const Json* asks = json->is_object() ? find(*json, "autoUpgrade") : nullptr;
  return asks != nullptr && as_bool(asks);
}

bool read_annotated(Policy& policy, const Json& object) {
  const Json* text = annotation(object, fleet::policy_annotation);
  if (text == nullptr) return false;
  auto json = parse_yaml(as_text(text), fleet::policy_annotation);
  if (json) return read_more(policy, &*json, fleet::policy_annotation);
  policy.problems.push_back(json.error().text());
  return false;
}

void read_switches(Policy& policy, const Json& object, bool own_switch) {
  if (own_switch) {
    policy.auto_upgrade = as_text(annotation(object, fleet::auto_upgrade_annotation)) != "false";
  }
  if (!policy.not_asked.empty()) policy.auto_upgrade = policy.nvidia_auto_upgrade = false;
  if (const Json* paused = annotation(object, fleet::paused_annotation)) {
    policy.paused = std::string(as_text(paused));
  }
}

// Virtual machines bring their own driver: what NVIDIA's controller does not upgrade.
void read_workloads(Policy& policy, const Json& object) {
  const Json* sandbox = find(object, "spec", "sandboxWorkloads");
  if (sandbox == nullptr || !as_bool(find(*sandbox, "enabled"))) return;
  std::string_view workload = text_at(*sandbox, "defaultWorkload");
  if (workload.empty() || workload == "container") return;
  policy.serves_machines = true;
  policy.not_asked =
      fmt::format("spec.sandboxWorkloads of {} is enabled and its defaultWorkload is {}",
                  policy.source, workload);
  policy.asks_if = "set spec.sandboxWorkloads.defaultWorkload to container";
}

void note_missing(Policy& policy, std::string_view field, std::string_view besides = {}) {
  policy.not_asked = fmt::format("{} has no {}{}", policy.source, field, besides);
  policy.asks_if = fmt::format("set {}, such as {{autoUpgrade: true}}", field);
}

const Json* member(const Json* object) {
  return object == nullptr || object->is_null() ? nullptr : object;
}

// The paths of what `wanted` has and `held` has not.
void add_missing(const Json& wanted, const Json* held, const std::string& path,
                 std::vector<std::string>& missing) {
  if (held == nullptr) {
    missing.push_back(path);
  } else if (wanted.is_object() && held->is_object()) {
    for (const auto& [key, value] : wanted.get_object()) {
      if (value.is_null()) continue;
      std::string name(key);
      add_missing(value, find(*held, key), path.empty() ? name : path + "." + name, missing);
    }
  }
}

const Json* upgrade_policy_of(const Json& object) {
  const Json* of_cluster_policy = find(object, "spec", "driver", "upgradePolicy");
  return of_cluster_policy != nullptr ? of_cluster_policy : find(object, "spec", "upgradePolicy");
}

}  // namespace

Policy Policy::none() {
  Policy policy;
  policy.auto_upgrade = false;
  return policy;
}

Policy read_policy(const Json* upgrade_policy, std::string source) {
  Policy policy;
  policy.source = std::move(source);
  policy.drain.eviction.pods = LabelSelector{};
  read_policy_map(policy, upgrade_policy, "upgradePolicy");
  return policy;
}

Policy policy_of_cluster_policy(const Json& object, bool own_switch, const Json* over) {
  const Json* own = member(find(object, "spec", "driver", "upgradePolicy"));
  Policy policy =
      read_policy(own, fmt::format("ClusterPolicy {}", text_at(object, "metadata", "name")));
  policy.nvidia_auto_upgrade = own != nullptr && policy.auto_upgrade;
  bool asks = read_annotated(policy, object);
  asks = read_more(policy, over, "policy of the DriverRollout") || asks || own != nullptr;
  if (!asks) note_missing(policy, "spec.driver.upgradePolicy");
  read_workloads(policy, object);
  read_switches(policy, object, own_switch);
  return policy;
}

Policy policy_of_nvidia_driver(const Json& object, const Policy& fallback, bool own_switch,
                               const Json* over) {
  const Json* own = member(find(object, "spec", "upgradePolicy"));
  std::string source = fmt::format("NVIDIADriver {}", text_at(object, "metadata", "name"));
  bool has_fallback = !fallback.source.empty();
  Policy policy = own == nullptr && has_fallback ? fallback : read_policy(own, source);
  if (own == nullptr) policy.auto_upgrade = has_fallback && fallback.nvidia_auto_upgrade;
  policy.nvidia_auto_upgrade = policy.auto_upgrade;
  bool asks = read_annotated(policy, object);
  asks = read_more(policy, over, "policy of the DriverRollout") || asks || own != nullptr;
  if (asks) {
    policy.not_asked.clear();
  } else if (!has_fallback) {
    note_missing(policy, "spec.upgradePolicy", ", and there is no ClusterPolicy");
  }
  if (fallback.serves_machines) {
    policy.not_asked = fallback.not_asked;
    policy.asks_if = fallback.asks_if;
  }
  read_switches(policy, object, own_switch);
  return policy;
}

std::vector<std::string> pruned_fields(const Json& object) {
  std::vector<std::string> missing;
  const Json* text = annotation(object, "kubectl.kubernetes.io/last-applied-configuration");
  auto applied = parse_json(as_text(text));
  const Json* wanted = applied ? member(upgrade_policy_of(*applied)) : nullptr;
  if (wanted == nullptr) return missing;
  const Json none = JsonObject{};
  const Json* held = member(upgrade_policy_of(object));
  add_missing(*wanted, held == nullptr ? &none : held, "", missing);
  return missing;
}

}  // namespace lockstep::upgrade

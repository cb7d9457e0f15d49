#include "upgrade/policy.h"

#include <functional>
#include <map>

#include <fmt/format.h>

#include "base/strings.h"
#include "data/yaml.h"
#include "fleet/keys.h"

namespace lockstep::upgrade {

namespace {

// One object of the policy: each field is read by its own function, and what is left over is
// reported.
class Fields {
 public:
  Fields(Policy& policy, std::string path) : policy_(policy), path_(std::move(path)) {}

  using Reader = std::function<void(const Json&, const std::string& path)>;
  Fields& on(const std::string& key, Reader reader) {
    readers_[key] = std::move(reader);
    return *this;
  }

  void read(const Json* json) {
    if (json == nullptr || json->is_null()) return;
    if (!json->is_object()) return problem(path_, "must be an object");
    for (const auto& [key, value] : json->get_object()) {
      std::string name(key);
      std::string path = path_ + "." + name;
      auto at = readers_.find(name);
      if (at == readers_.end()) {
        unknown(path, name);
      } else if (!value.is_null()) {
        at->second(value, path);
      }
    }
  }

  Reader boolean(bool& into) {
    return [this, &into](const Json& value, const std::string& path) {
      if (!value.is_bool()) return problem(path, "must be true or false");
      into = value.get_bool();
    };
  }
  Reader count(int64_t& into) {
    return [this, &into](const Json& value, const std::string& path) {
      if (!value.is_int64() || value.get_int64() < 0) {
        return problem(path, "must be a whole number, 0 or more");
      }
      into = value.get_int64();
    };
  }
  Reader length(Duration& into) {
    return [this, &into](const Json& value, const std::string& path) {
      // Ten thousand years are enough, and do not overflow.
      if (!value.is_int64() || value.get_int64() < 0 || value.get_int64() > 4'000'000'000) {
        return problem(path, "must be a whole number of seconds, 0 or more");
      }
      into = seconds(value.get_int64());
    };
  }
  Reader share(IntOrPercent& into) {
    return [this, &into](const Json& value, const std::string& path) {
      auto read = IntOrPercent::from_json(value);
      if (!read || read->value < 0) {
        return problem(path, fmt::format("must be a whole number or a percentage such as \"25%\", "
                                         "and is {}",
                                         print_json(value)));
      }
      into = *read;
    };
  }
  // An empty text means `if_empty`.
  Reader selector(LabelSelector& into, LabelSelector if_empty) {
    return
        [this, &into, if_empty = std::move(if_empty)](const Json& value, const std::string& path) {
          if (!value.is_string())
            return problem(path, "must be a label selector such as \"app=web\"");
          std::string text(value.get_string());
          if (trim(text).empty()) {
            into = if_empty;
            return;
          }
          auto read = LabelSelector::parse(text);
          // Never more than was meant: an unreadable selector of a drain must not drain all.
          into = read ? *read : LabelSelector::nothing();
          if (!read) problem(path, "is no label selector: " + read.error().message);
        };
  }

  void problem(const std::string& path, const std::string& what) {
    policy_.problems.push_back(fmt::format("{} {}", path, what));
  }

 private:
  void unknown(const std::string& path, const std::string& name) {
    std::vector<std::string> known;
    for (const auto& [key, reader] : readers_) known.push_back(key);
    auto near = nearest(name, known);
    policy_.warnings.push_back(near ? fmt::format("{} is not known; did you mean {}?", path, *near)
                                    : fmt::format("{} is not known", path));
  }

  Policy& policy_;
  std::string path_;
  std::map<std::string, Reader> readers_;
};

void read_wait(Policy& policy, const Json& json, const std::string& path) {
  Fields fields(policy, path);
  fields.on("timeoutSeconds", fields.length(policy.wait.timeout))
      .on("podSelector", fields.selector(policy.wait.pods, LabelSelector::nothing()))
      .read(&json);
}

void read_pod_deletion(Policy& policy, const Json& json, const std::string& path) {
  Fields fields(policy, path);
  fields.on("force", fields.boolean(policy.pod_deletion.force))
      .on("timeoutSeconds", fields.length(policy.pod_deletion.timeout))
      .on("deleteEmptyDir", fields.boolean(policy.pod_deletion.delete_empty_dir))
      .on("podSelector", fields.selector(policy.pod_deletion.pods, LabelSelector::nothing()))
      .read(&json);
}

void read_drain(Policy& policy, const Json& json, const std::string& path) {
  Fields fields(policy, path);
  EvictionPolicy& eviction = policy.drain.eviction;
  fields.on("enable", fields.boolean(policy.drain.enable))
      .on("force", fields.boolean(eviction.force))
      .on("timeoutSeconds", fields.length(eviction.timeout))
      .on("deleteEmptyDir", fields.boolean(eviction.delete_empty_dir))
      .on("podSelector", fields.selector(eviction.pods, LabelSelector{}))
      .read(&json);
}

void read_deadlines(Policy& policy, const Json& json, const std::string& path) {
  Fields fields(policy, path);
  int64_t restarts = policy.deadlines.restarts;
  fields.on("restartSeconds", fields.length(policy.deadlines.restart))
      .on("imagePullSeconds", fields.length(policy.deadlines.image_pull))
      .on("validationSeconds", fields.length(policy.deadlines.validation))
      .on("containerRestarts", fields.count(restarts))
      .read(&json);
  policy.deadlines.restarts = static_cast<int32_t>(std::min<int64_t>(restarts, 1'000'000));
}

void read_cordoned_nodes(Policy& policy, const Json& json, const std::string& path) {
  std::string_view text = as_text(&json);
  if (text == "wait") {
    policy.cordoned_nodes = CordonedNodes::wait;
  } else if (text == "upgrade") {
    policy.cordoned_nodes = CordonedNodes::upgrade;
  } else if (text == "ignore") {
    policy.cordoned_nodes = CordonedNodes::ignore;
  } else {
    policy.problems.push_back(
        fmt::format("{} must be wait, upgrade or ignore, and is {}", path, print_json(json)));
  }
}

const Json* annotation(const Json& object, std::string_view key) {
  const Json* annotations = find(object, "metadata", "annotations");
  return annotations == nullptr ? nullptr : find(*annotations, key);
}

void read_fields(Policy& policy, const Json* json, const std::string& path) {
  Fields fields(policy, path);
  auto pod_deletion = [&](const Json& value, const std::string& at) {
    read_pod_deletion(policy, value, at);
  };
  fields.on("autoUpgrade", fields.boolean(policy.auto_upgrade))
      .on("maxParallelUpgrades", fields.count(policy.max_parallel))
      .on("maxUnavailable", fields.share(policy.max_unavailable))
      .on("maxFailures", fields.share(policy.max_failures))
      .on("cordonedNodes",
          [&](const Json& value, const std::string& at) { read_cordoned_nodes(policy, value, at); })
      .on("waitForCompletion",
          [&](const Json& value, const std::string& at) { read_wait(policy, value, at); })
      .on("podDeletion", pod_deletion)
      // NVIDIA's documentation calls it so, its API does not.
      .on("gpuPodDeletion", pod_deletion)
      .on("drain", [&](const Json& value, const std::string& at) { read_drain(policy, value, at); })
      .on("deadlines",
          [&](const Json& value, const std::string& at) { read_deadlines(policy, value, at); })
      .read(json);
}

// What is laid over an upgradePolicy. True: it asks for upgrades.
bool read_more(Policy& policy, const Json* json, std::string_view path) {
  if (json == nullptr || json->is_null()) return false;
  read_fields(policy, json, std::string(path));
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
  read_fields(policy, upgrade_policy, "upgradePolicy");
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

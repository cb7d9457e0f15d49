#include "upgrade/policy.h"

#include <functional>
#include <map>

#include <fmt/format.h>

#include "base/strings.h"
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

void read_annotations(Policy& policy, const Json& object, bool own_switch) {
  policy.nvidia_auto_upgrade = policy.auto_upgrade;
  if (own_switch) {
    policy.auto_upgrade = as_text(annotation(object, fleet::auto_upgrade_annotation)) != "false";
  }
  if (const Json* paused = annotation(object, fleet::paused_annotation)) {
    policy.paused = std::string(as_text(paused));
  }
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
  Fields fields(policy, "upgradePolicy");
  auto pod_deletion = [&](const Json& json, const std::string& path) {
    read_pod_deletion(policy, json, path);
  };
  fields.on("autoUpgrade", fields.boolean(policy.auto_upgrade))
      .on("maxParallelUpgrades", fields.count(policy.max_parallel))
      .on("maxUnavailable", fields.share(policy.max_unavailable))
      .on("maxFailures", fields.share(policy.max_failures))
      .on("cordonedNodes",
          [&](const Json& json, const std::string& path) {
            read_cordoned_nodes(policy, json, path);
          })
      .on("waitForCompletion",
          [&](const Json& json, const std::string& path) { read_wait(policy, json, path); })
      .on("podDeletion", pod_deletion)
      // NVIDIA's documentation calls it so, its API does not.
      .on("gpuPodDeletion", pod_deletion)
      .on("drain",
          [&](const Json& json, const std::string& path) { read_drain(policy, json, path); })
      .on("deadlines",
          [&](const Json& json, const std::string& path) { read_deadlines(policy, json, path); })
      .read(upgrade_policy);
  return policy;
}

Policy policy_of_cluster_policy(const Json& object, bool own_switch) {
  Policy policy = read_policy(find(object, "spec", "driver", "upgradePolicy"),
                              fmt::format("ClusterPolicy {}", text_at(object, "metadata", "name")));
  read_annotations(policy, object, own_switch);
  return policy;
}

Policy policy_of_nvidia_driver(const Json& object, const Policy& fallback, bool own_switch) {
  const Json* own = find(object, "spec", "upgradePolicy");
  if (own != nullptr && own->is_null()) own = nullptr;
  std::string source = fmt::format("NVIDIADriver {}", text_at(object, "metadata", "name"));
  Policy policy = own == nullptr && !fallback.source.empty() ? fallback : read_policy(own, source);
  if (own == nullptr) policy.auto_upgrade = fallback.source.empty() || fallback.nvidia_auto_upgrade;
  read_annotations(policy, object, own_switch);
  return policy;
}

}  // namespace lockstep::upgrade

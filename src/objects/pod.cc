#include "objects/pod.h"

#include "objects/reading.h"

namespace lockstep {

namespace {

// Both lists name extended resources by the same names; a limit without a request is a request too.
void take_larger(ResourceAmounts& into, ResourceAmounts from) {
  if (into.empty()) {
    into = std::move(from);
    return;
  }
  for (ResourceAmount& amount : from) {
    auto at = std::lower_bound(
        into.begin(), into.end(), amount,
        [](const ResourceAmount& a, const ResourceAmount& b) { return a.name < b.name; });
    if (at != into.end() && at->name == amount.name) {
      at->amount = std::max(at->amount, amount.amount);
    } else {
      into.insert(at, std::move(amount));
    }
  }
}

template <typename Reader>
void decode_environment(Reader& in, Container& container, DecodeContext& context) {
  container.environment.clear();
  in.array([&] {
    // The value may come before the name, so both are read before it is known whether to keep them.
    EnvironmentVariable variable;
    bool named = false;
    bool keep = false;
    in.object([&](std::string_view key) {
      if (key == "name") {
        std::string_view name = in.text();
        named = true;
        keep = std::find(context.keep_environment.begin(), context.keep_environment.end(), name) !=
               context.keep_environment.end();
        if (keep) variable.name = context.pool.intern(name);
      } else if (key == "value") {
        std::string_view value = in.text();
        if (keep || !named) variable.value = context.pool.intern(value);
      } else {
        in.skip();
      }
    });
    if (keep) container.environment.push_back(std::move(variable));
  });
  container.environment.shrink_to_fit();
}

template <typename Reader>
void decode(Reader& in, Container& container, DecodeContext& context) {
  in.object([&](std::string_view key) {
    if (key == "name") {
      container.name = in.text(context.pool);
    } else if (key == "image") {
      container.image = in.text(context.pool);
    } else if (key == "resources") {
      container.resources.clear();
      in.object([&](std::string_view part) {
        if (part == "limits" || part == "requests") {
          take_larger(container.resources, decode_extended_resources(in, context));
        } else {
          in.skip();
        }
      });
    } else if (key == "env") {
      decode_environment(in, container, context);
    } else {
      in.skip();
    }
  });
}

template <typename Reader>
void read_containers(Reader& in, std::vector<Container>& containers, DecodeContext& context) {
  containers.clear();
  in.array([&] { decode(in, containers.emplace_back(), context); });
  containers.shrink_to_fit();
}

template <typename Reader>
void decode(Reader& in, PodResourceClaim& claim, DecodeContext& context) {
  in.object([&](std::string_view key) {
    if (key == "name") {
      claim.name = in.text(context.pool);
    } else if (key == "resourceClaimName") {
      claim.claim_name = in.text(context.pool);
    } else if (key == "resourceClaimTemplateName") {
      claim.template_name = in.text(context.pool);
    } else if (key == "source") {
      // Until Kubernetes 1.30 the two names were one level deeper.
      decode(in, claim, context);
    } else {
      in.skip();
    }
  });
}

template <typename Reader>
void decode(Reader& in, PodResourceClaimStatus& status, DecodeContext& context) {
  in.object([&](std::string_view key) {
    if (key == "name") {
      status.name = in.text(context.pool);
    } else if (key == "resourceClaimName") {
      status.claim_name = in.text(context.pool);
    } else {
      in.skip();
    }
  });
}

struct Termination {
  bool present = false;
  int32_t exit_code = 0;
  Text reason;
};

template <typename Reader>
void decode_termination(Reader& in, Termination& termination, DecodeContext& context) {
  if (in.at_null()) return in.skip();
  termination.present = true;
  in.object([&](std::string_view key) {
    if (key == "exitCode") {
      termination.exit_code = static_cast<int32_t>(in.integer());
    } else if (key == "reason") {
      termination.reason = in.text(context.pool);
    } else {
      in.skip();
    }
  });
}

template <typename Reader>
void decode_state(Reader& in, ContainerStatus& status, Termination& termination,
                  DecodeContext& context) {
  in.object([&](std::string_view key) {
    if (key == "running") {
      in.object([&](std::string_view field) {
        if (field == "startedAt") {
          status.started = read_time(in, context);
        } else {
          in.skip();
        }
      });
    } else if (key == "waiting") {
      in.object([&](std::string_view field) {
        if (field == "reason") {
          status.waiting_reason = in.text(context.pool);
        } else if (field == "message") {
          status.waiting_message = in.text(context.pool);
        } else {
          in.skip();
        }
      });
    } else if (key == "terminated") {
      decode_termination(in, termination, context);
    } else {
      in.skip();
    }
  });
}

template <typename Reader>
void decode(Reader& in, ContainerStatus& status, DecodeContext& context) {
  Termination current;
  Termination last;
  in.object([&](std::string_view key) {
    if (key == "name") {
      status.name = in.text(context.pool);
    } else if (key == "ready") {
      status.ready = in.boolean();
    } else if (key == "restartCount") {
      status.restarts = static_cast<int32_t>(in.integer());
    } else if (key == "state") {
      decode_state(in, status, current, context);
    } else if (key == "lastState") {
      in.object([&](std::string_view field) {
        if (field == "terminated") {
          decode_termination(in, last, context);
        } else {
          in.skip();
        }
      });
    } else {
      in.skip();
    }
  });
  status.terminated = current.present;
  Termination& shown = current.present ? current : last;
  status.exit_code = shown.exit_code;
  status.terminated_reason = std::move(shown.reason);
}

template <typename Reader>
void read_statuses(Reader& in, std::vector<ContainerStatus>& statuses, DecodeContext& context) {
  statuses.clear();
  in.array([&] { decode(in, statuses.emplace_back(), context); });
  statuses.shrink_to_fit();
}

template <typename Reader>
void decode_conditions(Reader& in, Pod& pod, DecodeContext& context) {
  pod.conditions.clear();
  in.array([&] {
    Condition condition;
    decode(in, condition, context);
    if (condition.type == "Ready") {
      pod.ready = condition.is_true();
      pod.ready_since = condition.last_transition;
      return;
    }
    bool implied = condition.type == "Initialized" || condition.type == "ContainersReady" ||
                   condition.type == "PodReadyToStartContainers" ||
                   (condition.type == "PodScheduled" && condition.is_true());
    if (!implied) pod.conditions.push_back(std::move(condition));
  });
  pod.conditions.shrink_to_fit();
}

template <typename Reader>
void decode_status(Reader& in, Pod& pod, DecodeContext& context) {
  in.object([&](std::string_view key) {
    if (key == "phase") {
      pod.phase = pod_phase(in.text());
    } else if (key == "conditions") {
      decode_conditions(in, pod, context);
    } else if (key == "containerStatuses") {
      read_statuses(in, pod.container_statuses, context);
    } else if (key == "initContainerStatuses") {
      read_statuses(in, pod.init_container_statuses, context);
    } else if (key == "resourceClaimStatuses") {
      pod.resource_claim_statuses.clear();
      in.array([&] { decode(in, pod.resource_claim_statuses.emplace_back(), context); });
      pod.resource_claim_statuses.shrink_to_fit();
    } else if (key == "extendedResourceClaimStatus") {
      in.object([&](std::string_view field) {
        if (field != "resourceClaimName") return in.skip();
        pod.extended_resource_claim = in.text(context.pool);
      });
    } else if (key == "reason") {
      pod.reason = in.text(context.pool);
    } else if (key == "message") {
      pod.message = in.text(context.pool);
    } else if (key == "startTime") {
      pod.started = read_time(in, context);
    } else {
      in.skip();
    }
  });
}

// False: the field is not one that templates share, and was not read.
template <typename Reader>
bool decode_spec_field(Reader& in, std::string_view key, PodSpec& spec, PodPlacement* placement,
                       DecodeContext& context) {
  if (key == "containers") {
    read_containers(in, spec.containers, context);
  } else if (key == "initContainers") {
    read_containers(in, spec.init_containers, context);
  } else if (key == "resourceClaims") {
    spec.resource_claims.clear();
    in.array([&] { decode(in, spec.resource_claims.emplace_back(), context); });
    spec.resource_claims.shrink_to_fit();
  } else if (key == "runtimeClassName") {
    spec.runtime_class = in.text(context.pool);
  } else if (key == "volumes") {
    in.array([&] {
      in.object([&](std::string_view field) {
        if (field == "emptyDir" && !in.at_null()) spec.has_empty_dir = true;
        in.skip();
      });
    });
  } else if (key == "nodeSelector" && placement != nullptr) {
    placement->node_selector = read_string_map(in, context);
  } else if (key == "tolerations" && placement != nullptr) {
    placement->tolerations.clear();
    in.array([&] { decode(in, placement->tolerations.emplace_back(), context); });
  } else {
    return false;
  }
  return true;
}

}  // namespace

std::string_view to_string(PodPhase phase) {
  switch (phase) {
    case PodPhase::unknown:
      return "Unknown";
    case PodPhase::pending:
      return "Pending";
    case PodPhase::running:
      return "Running";
    case PodPhase::succeeded:
      return "Succeeded";
    case PodPhase::failed:
      return "Failed";
  }
  return "Unknown";
}

PodPhase pod_phase(std::string_view text) {
  for (PodPhase phase :
       {PodPhase::pending, PodPhase::running, PodPhase::succeeded, PodPhase::failed}) {
    if (text == to_string(phase)) return phase;
  }
  return PodPhase::unknown;
}

const Text* PodSpec::find_environment(std::string_view name) const {
  for (const auto* group : {&init_containers, &containers}) {
    for (const Container& container : *group) {
      for (const EnvironmentVariable& variable : container.environment) {
        if (variable.name == name) return &variable.value;
      }
    }
  }
  return nullptr;
}

bool Pod::is_mirror() const { return meta.annotations.contains("kubernetes.io/config.mirror"); }

bool Pod::is_owned_by_daemon_set() const {
  const OwnerReference* owner = meta.controller();
  return owner != nullptr && owner->kind == "DaemonSet";
}

PodClaims claims_of(const Pod& pod) {
  PodClaims claims;
  for (const PodResourceClaim& claim : pod.spec.resource_claims) {
    if (!claim.claim_name.empty()) {
      claims.names.push_back(claim.claim_name);
      continue;
    }
    const auto& statuses = pod.resource_claim_statuses;
    auto made = std::find_if(
        statuses.begin(), statuses.end(),
        [&](const PodResourceClaimStatus& status) { return status.name == claim.name; });
    if (made == statuses.end()) {
      ++claims.unresolved;
    } else if (!made->claim_name.empty()) {
      claims.names.push_back(made->claim_name);
    }
  }
  // The spec does not show it.
  if (!pod.extended_resource_claim.empty()) claims.names.push_back(pod.extended_resource_claim);
  return claims;
}

template <typename Reader>
void decode(Reader& in, Toleration& toleration, DecodeContext& context) {
  in.object([&](std::string_view key) {
    if (key == "key") {
      toleration.key = in.text(context.pool);
    } else if (key == "operator") {
      toleration.op = in.text(context.pool);
    } else if (key == "value") {
      toleration.value = in.text(context.pool);
    } else if (key == "effect") {
      toleration.effect = in.text(context.pool);
    } else {
      in.skip();
    }
  });
}
LOCKSTEP_INSTANTIATE_DECODE(Toleration);

template <typename Reader>
void decode_pod_spec(Reader& in, PodSpec& spec, PodPlacement* placement, DecodeContext& context) {
  in.object([&](std::string_view key) {
    if (!decode_spec_field(in, key, spec, placement, context)) in.skip();
  });
}
template void decode_pod_spec(JsonReader&, PodSpec&, PodPlacement*, DecodeContext&);
template void decode_pod_spec(TreeReader&, PodSpec&, PodPlacement*, DecodeContext&);

template <typename Reader>
void decode(Reader& in, Pod& pod, DecodeContext& context) {
  in.object([&](std::string_view key) {
    if (key == "metadata") {
      decode(in, pod.meta, context);
    } else if (key == "spec") {
      in.object([&](std::string_view field) {
        if (field == "nodeName") {
          pod.node_name = in.text(context.pool);
        } else if (field == "terminationGracePeriodSeconds") {
          pod.termination_grace_seconds = in.integer();
        } else if (!decode_spec_field(in, field, pod.spec, nullptr, context)) {
          in.skip();
        }
      });
    } else if (key == "status") {
      decode_status(in, pod, context);
    } else {
      in.skip();
    }
  });
}
LOCKSTEP_INSTANTIATE_DECODE(Pod);

}  // namespace lockstep

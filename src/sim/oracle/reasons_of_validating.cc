// What a node waits for before it returns to service: its clients, its devices, its validators.
#include <algorithm>

#include <fmt/format.h>

#include "sim/actors/driver_image.h"
#include "sim/oracle/reason_truth.h"

namespace lockstep::sim {

namespace {

using fleet::Reason;

bool is_client(const ObjectKey& key, const Json& pod) {
  return key.ns == dra_namespace && is_of_daemon_set(pod);
}

// For a failure there is a limit, and it is reached.
std::string objection_to_deadline(const Said& said) {
  return objection_to_haste(
      said, [](const upgrade::Policy& policy) { return policy.deadlines.validation; });
}

std::string node_is_not_ready(const Said& said) {
  return said.node.ready ? "it is Ready" : objection_to_deadline(said);
}

std::string has_no_client(const Said& said) {
  bool found = surely_has_pod(said, [](const ObjectKey& key, const Json& pod) {
    return is_client(key, pod) && !is_terminating(pod);
  });
  return found ? "its client is there" : objection_to_deadline(said);
}

std::string has_client_not_ready(const Said& said) {
  bool found = may_have_pod(said, [](const ObjectKey& key, const Json& pod) {
    return is_client(key, pod) && !is_ready_pod(pod);
  });
  return found ? objection_to_deadline(said) : "its client is ready";
}

// It began before the driver was ready: what it has opened may be the previous driver. Within one
// second the order is unknown.
bool is_from_before(const Said& said, const PodRun& run, const PodRun& driver) {
  const Machine& machine = said.truth.cluster().kubelets().machine(said.name);
  if (run.role == Role::dra_plugin && run.nvml.generation < machine.generation()) return true;
  return std::any_of(run.containers.begin(), run.containers.end(), [&](const ContainerRun& each) {
    return each.state == ContainerRun::State::running &&
           each.started.unix_seconds() <= driver.ready_since.unix_seconds();
  });
}

const PodRun* find_driver_run(const Said& said) {
  for (const auto& [key, pod] : said.truth.pods_on(said.name)) {
    if (!is_driver_pod(*pod.object) || is_terminating(*pod.object)) continue;
    return said.truth.cluster().kubelets().find_run(said.name, key);
  }
  return nullptr;
}

std::string has_stale_client(const Said& said) {
  const PodRun* driver = find_driver_run(said);
  if (driver == nullptr || !driver->ready) return {};
  bool found = may_have_pod(said, [&](const ObjectKey& key, const Json& pod) {
    if (!is_client(key, pod) && !is_validator_pod(pod)) return false;
    const PodRun* run = said.truth.cluster().kubelets().find_run(said.name, key);
    // Its kubelet has not seen it, or has not said that it is gone.
    return run == nullptr || is_from_before(said, *run, *driver);
  });
  return found ? objection_to_deadline(said) : "its clients began after its driver was ready";
}

// The version of the driver pod's image; a machine may have loaded another one.
std::string version_of_pod(const Said& said) {
  const PodTruth* pod = said.truth.driver_pod(said.name);
  const Json* containers = pod == nullptr ? nullptr : find(*pod->object, "spec", "containers");
  if (containers == nullptr || !containers->is_array() || containers->get_array().empty()) {
    return {};
  }
  return driver_version_of_image(text_at(containers->get_array()[0], "image"));
}

std::string has_stale_slices(const Said& said) {
  if (said.truth.may_be_unknown(said.evidence.published(said.name))) return {};
  const apiserver::StoredPtr slice = said.truth.cluster()
                                         .backend.store.shelf(resource::resource_slices.full_name())
                                         .find({"", slice_name(said.name)});
  if (!slice) return "it publishes nothing";
  const Machine& machine = said.truth.cluster().kubelets().machine(said.name);
  for (const Json& device : find(slice->json(), "spec", "devices")->get_array()) {
    std::string_view told = text_at(device, "attributes", "driverVersion", "version");
    bool is_right = told == semantic_version(machine.version()) &&
                    told == semantic_version(version_of_pod(said));
    if (!is_right) return objection_to_deadline(said);
  }
  return fmt::format("its ResourceSlices say {}, which is loaded", machine.version());
}

std::string has_no_validator(const Said& said) {
  bool found = surely_has_pod(said, [](const ObjectKey&, const Json& pod) {
    return is_validator_pod(pod) && !is_terminating(pod);
  });
  return found ? "it has a validator pod" : objection_to_deadline(said);
}

std::string has_validator_not_ready(const Said& said) {
  // A pod without a kubelet to end it says indefinitely that it is ready.
  bool found = may_have_pod(said, [](const ObjectKey&, const Json& pod) {
    return is_validator_pod(pod) && (!is_ready_pod(pod) || is_terminating(pod));
  });
  return found ? objection_to_deadline(said) : "its validators are ready";
}

std::string is_validated(const Said& said) {
  bool found = surely_has_pod(said, [](const ObjectKey& key, const Json& pod) {
    return (is_driver_pod(pod) || is_validator_pod(pod) || is_client(key, pod)) &&
           !is_ready_pod(pod);
  });
  return found ? "not all of its pods are ready" : "";
}

}  // namespace

const Objections& objections_to_validating() {
  static const Objections table = {
      {Reason::client_missing, has_no_client},
      {Reason::client_not_ready, has_client_not_ready},
      {Reason::no_validator_pod, has_no_validator},
      {Reason::node_not_ready, node_is_not_ready},
      {Reason::restarts_clients, has_stale_client},
      {Reason::stale_client, has_stale_client},
      {Reason::stale_resource_slice, has_stale_slices},
      {Reason::validated, is_validated},
      {Reason::validator_not_ready, has_validator_not_ready},
  };
  return table;
}

}  // namespace lockstep::sim

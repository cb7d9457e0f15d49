// Where the controller's gates and notifications may connect, by its flags and by what the chart
// tells of its pod.
#pragma once

#include "base/result.h"
#include "cli/controller_command.h"
#include "http/address_guard.h"
#include "kube/kubeconfig.h"

namespace lockstep::cli {

// Refuses the process itself: the addresses of its pod (POD_IPS), its Service (POD_SERVICE) and
// where it listens.
Result<http::AddressGuard> gate_guard(const ControllerFlags& flags,
                                      const kube::Environment& environment);

}  // namespace lockstep::cli

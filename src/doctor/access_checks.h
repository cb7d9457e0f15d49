// Checks of the access of a controller to its cluster: rights, clocks, certificates and
// webhooks.
#pragma once

#include "doctor/check.h"
#include "doctor/cluster_view.h"

namespace lockstep::doctor {

Check check_rights(const ClusterView& view);
Check check_clocks(const ClusterView& view);
Check check_certificates(const ClusterView& view);
Check check_webhooks(const ClusterView& view);

}  // namespace lockstep::doctor

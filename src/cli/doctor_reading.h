// The doctor's input, read from a cluster or from this machine.
#pragma once

#include "cli/doctor_command.h"
#include "doctor/cluster_view.h"
#include "doctor/node_checks.h"

namespace lockstep::cli {

// Fails when the cluster does not answer at all; what else cannot be read is said in the view.
Result<doctor::ClusterView> read_cluster(ClusterSession& session, const DoctorFlags& flags);

doctor::NodeFacts read_machine(const std::string& root, const std::string& checkpoint);

}  // namespace lockstep::cli

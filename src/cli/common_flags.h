// Flags that many commands have.
#pragma once

#include <string>

#include "cli/cluster_session.h"

namespace CLI {
class App;
}

namespace lockstep::cli {

void add_output_flag(CLI::App* command, std::string& output);

void add_key_domain_flag(CLI::App* command, ClusterFlags& flags);

// Which cluster, and which labels.
void add_connection_flags(CLI::App* command, ClusterFlags& flags);

// Which DaemonSets' pods hold the driver open.
void add_client_flags(CLI::App* command, fleet::ClientOptions& clients);

// The same, and who uses GPUs and drivers there.
void add_cluster_flags(CLI::App* command, ClusterFlags& flags);

}  // namespace lockstep::cli

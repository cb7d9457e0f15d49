// Flags that many commands have.
#pragma once

#include <string>

#include "cli/cluster_session.h"

namespace CLI {
class App;
}

namespace lockstep::cli {

void add_output_flag(CLI::App* command, std::string& output);

// Which cluster, and which labels.
void add_connection_flags(CLI::App* command, ClusterFlags& flags);

// The same, and who uses GPUs and drivers there.
void add_cluster_flags(CLI::App* command, ClusterFlags& flags);

}  // namespace lockstep::cli

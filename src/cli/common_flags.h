// Flags that many commands have.
#pragma once

#include <string>
#include <vector>

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

// Where the driver, its validators and NVIDIA's operator are; `otherwise` counts without the flag.
void add_driver_flag(CLI::App* command, std::vector<std::string>& namespaces,
                     const std::string& otherwise);
inline constexpr const char* published_driver_namespaces =
    "those that the controller publishes, else gpu-operator";

// Which pods use GPUs, and which hold the driver open.
void add_gpu_flags(CLI::App* command, ClusterFlags& flags);

// All of these.
void add_cluster_flags(CLI::App* command, ClusterFlags& flags,
                       const std::string& driver_namespaces = published_driver_namespaces);

}  // namespace lockstep::cli

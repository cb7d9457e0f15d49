// `lockstep dra-plugin`: puts the plugin together and runs it until a signal ends it.
#pragma once

#include <string>

namespace lockstep::dra {

struct PluginFlags {
  std::string kubeconfig;
  std::string driver = "gpu.lockstep.dev";
  std::string node;
  std::string instance;  // the pod's uid, where two may run at a time
  std::string kubelet_folder = "/var/lib/kubelet";
  std::string cdi_folder = "/var/run/cdi";
  std::string root = "/";      // where the host's files are seen
  std::string host_root = "";  // what the host calls that place
  std::string library_folder;  // where NVML is, and nowhere else
  std::string container_folder = "/usr/local/nvidia";
  std::string listen = "127.0.0.1:8085";
  std::string call_limit = "40s";
  std::string health_interval = "10s";
  std::string nvml_limit = "10s";
  bool send_error_type = false;
  bool verbose = false;
};

int run_plugin(const PluginFlags& flags);

// The word by which the program starts itself to ask NVML.
inline constexpr const char* nvml_word = "ask-nvml";

}  // namespace lockstep::dra

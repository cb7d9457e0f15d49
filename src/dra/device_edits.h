// What a container that is given a GPU gets: the device's files, the driver's libraries, and
// variables that name them.
#pragma once

#include <string>
#include <vector>

#include "dra/cdi_spec.h"
#include "dra/gpu_config.h"
#include "dra/inventory.h"

namespace lockstep::dra {

struct EditSettings {
  // Where we see the host's files, and what the host calls that place; both empty: the same.
  std::string root;
  std::string host_root;
  // In the container. Images for CUDA search for the driver's libraries here.
  std::string container_folder = "/usr/local/nvidia";
};

// The path as the host, and so the container runtime, knows it.
std::string host_path(const EditSettings& settings, const std::string& path);

// The driver's libraries: the files "lib*.so.VERSION" among `names`, the content of `folder`, each
// under its own name and, where programs ask for another, under that too.
std::vector<CdiMount> library_mounts(const EditSettings& settings, const std::string& folder,
                                     const std::vector<std::string>& names,
                                     const std::string& version);

// Without those of the device files that need not be there.
CdiEdits device_edits(const EditSettings& settings, const Gpu& gpu, const std::string& version,
                      const std::vector<CdiMount>& libraries, const GpuConfig& config);

}  // namespace lockstep::dra

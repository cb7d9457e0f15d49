#include "dra/device_edits.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace lockstep::dra {

namespace {

struct Alias {
  std::string_view library;
  std::string_view asked_for;
};
// What programs and the libraries themselves ask for by another name than the file's.
constexpr std::array<Alias, 9> aliases = {
    {{"libcuda", "libcuda.so.1"},
     {"libcudadebugger", "libcudadebugger.so.1"},
     {"libnvcuvid", "libnvcuvid.so.1"},
     {"libnvidia-cfg", "libnvidia-cfg.so.1"},
     {"libnvidia-encode", "libnvidia-encode.so.1"},
     {"libnvidia-ml", "libnvidia-ml.so.1"},
     {"libnvidia-nvvm", "libnvidia-nvvm.so.4"},
     {"libnvidia-opencl", "libnvidia-opencl.so.1"},
     {"libnvidia-ptxjitcompiler", "libnvidia-ptxjitcompiler.so.1"}}};

CdiMount library_mount(const EditSettings& settings, const std::string& file,
                       std::string_view name) {
  return {host_path(settings, file),
          fmt::format("{}/lib64/{}", settings.container_folder, name),
          {"ro", "nosuid", "nodev", "bind"}};
}

// "LOCKSTEP_GPU_0" for "gpu-0": two devices in one container must not share a variable.
std::string variable_of(const Gpu& gpu) { return fmt::format("LOCKSTEP_GPU_{}", gpu.minor); }

}  // namespace

std::string host_path(const EditSettings& settings, const std::string& path) {
  bool is_below = !settings.root.empty() && path.starts_with(settings.root + "/");
  return is_below ? settings.host_root + path.substr(settings.root.size()) : path;
}

std::vector<CdiMount> library_mounts(const EditSettings& settings, const std::string& folder,
                                     const std::vector<std::string>& names,
                                     const std::string& version) {
  std::vector<CdiMount> mounts;
  const std::string suffix = ".so." + version;
  for (const std::string& name : names) {
    if (!name.starts_with("lib") || !name.ends_with(suffix)) continue;
    std::string file = folder + "/" + name;
    std::string_view library = std::string_view(name).substr(0, name.size() - suffix.size());
    mounts.push_back(library_mount(settings, file, name));
    for (const Alias& alias : aliases) {
      if (alias.library == library) {
        mounts.push_back(library_mount(settings, file, alias.asked_for));
      }
    }
  }
  return mounts;
}

CdiEdits device_edits(const EditSettings& settings, const Gpu& gpu, const std::string& version,
                      const std::vector<CdiMount>& libraries, const GpuConfig& config) {
  CdiEdits edits;
  edits.environment = {fmt::format("{}={}", variable_of(gpu), gpu.uuid),
                       fmt::format("LOCKSTEP_DRIVER_VERSION={}", version),
                       // Else a runtime of NVIDIA's would give the container all GPUs as well.
                       "NVIDIA_VISIBLE_DEVICES=void"};
  for (const auto& [name, value] : config.environment) {
    edits.environment.push_back(name + "=" + value);
  }
  for (const std::string& node : {fmt::format("/dev/nvidia{}", gpu.minor),
                                  std::string("/dev/nvidiactl"), std::string("/dev/nvidia-uvm")}) {
    std::string on_host = settings.host_root + node;
    edits.device_nodes.push_back({node, on_host == node ? "" : on_host});
  }
  edits.mounts = libraries;
  return edits;
}

}  // namespace lockstep::dra

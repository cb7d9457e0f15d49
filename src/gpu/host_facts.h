// What the host's own files say, without the driver's libraries: the loaded kernel module, device
// nodes. `root` is where the host's file system lies; tests make one of their own.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/json.h"

namespace lockstep::gpu {

// The content of a small file, without white space at its ends; nothing when it cannot be read.
std::optional<std::string> read_small_file(const std::string& path);
// Names in a directory, sorted; none when it cannot be read.
std::vector<std::string> names_in(const std::string& directory);

// "580.159.04" out of the text of /proc/driver/nvidia/version, of the open or the closed module.
std::optional<std::string> module_version_in(std::string_view text);

// {"module_version": ..., "device_nodes": [...], "kernel_log": ...}. Device nodes: those of these
// minor numbers, nvidiactl and nvidia-uvm, under "missing_nodes" where one is not there.
JsonObject host_facts(const std::string& root, const std::vector<int>& minors);

}  // namespace lockstep::gpu

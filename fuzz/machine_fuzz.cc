// What the kernel of a node says of itself, which programs on it can shape: /proc/modules and
// /proc/self/mountinfo. No crash; an error names its line; every module is unloaded after those
// that depend on it; what is unmounted lies below the root that was asked for.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "document_from_bytes.h"
#include "node/modules.h"
#include "node/mounts.h"

namespace {

using namespace lockstep;
using namespace lockstep::node;
using lockstep::fuzz::require;

void check_modules(std::string_view text) {
  const auto modules = parse_modules(text);
  if (!modules) {
    require(!modules.error().message.empty(), "an error has words");
    return;
  }
  const std::vector<std::string> order = unload_order(*modules);
  for (size_t i = 0; i < order.size(); ++i) {
    require(std::find(order.begin() + static_cast<std::ptrdiff_t>(i) + 1, order.end(), order[i]) ==
                order.end(),
            "a module is unloaded once");
    require(std::any_of(modules->begin(), modules->end(),
                        [&](const KernelModule& module) { return module.name == order[i]; }),
            "and is one that is loaded");
  }
  (void)busy_modules(*modules);
}

void check_mounts(std::string_view text) {
  const auto targets = parse_mount_targets(text);
  if (!targets) {
    require(!targets.error().message.empty(), "an error has words");
    return;
  }
  constexpr std::string_view root = "/run/nvidia/driver";
  for (const std::string& target : mounts_under(*targets, root)) {
    require(target == root || target.starts_with(std::string(root) + "/"),
            "it lies below its root");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_modules(text);
  check_mounts(text);
  return 0;
}

#include "sim/actors/machine.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/digest.h"

namespace lockstep::sim {

Duration Range::draw(Random& random) const {
  int64_t width = (most - least).count();
  if (width <= 0) return least;
  return least + nanoseconds(static_cast<int64_t>(random.below(static_cast<uint64_t>(width) + 1)));
}

bool applies_to(std::string_view faulty_version, std::string_view version) {
  return !faulty_version.empty() && (faulty_version == "*" || faulty_version == version);
}

std::string Machine::gpu_uuid(int index) const {
  Digest digest;
  digest.add(name_);
  digest.add(static_cast<uint64_t>(index));
  std::string high = digest.hex();
  digest.add("low");
  std::string low = digest.hex();
  return fmt::format("GPU-{}-{}-{}-{}-{}", high.substr(0, 8), high.substr(8, 4), high.substr(12, 4),
                     low.substr(0, 4), low.substr(4, 12));
}

void Machine::finish_load(std::string version, std::string digest, Time now) {
  module_ = Module::loaded;
  version_ = std::move(version);
  digest_ = std::move(digest);
  ++generation_;
  loaded_since_boot_ = true;
  loaded_since_ = now;
}

void Machine::switch_off() {
  module_ = Module::absent;
  digest_.clear();
  loaded_since_boot_ = false;
}

NvmlHandle Machine::open_nvml() const { return {generation_, migrating(), version_}; }

Result<void> Machine::prepare(const NvmlHandle& handle, std::string_view claim, int device) const {
  auto cannot = [&](std::string_view why) {
    return failf(ErrorKind::internal, "unable to create CDI spec file for claim: {}: {}", claim,
                 why);
  };
  if (!loaded()) return cannot("failed to initialize NVML: Driver Not Loaded");
  if (handle.opened_in_migration) {
    return cannot(fmt::format(
        "invalid CDI Spec: failed add device \"{}-gpu-{}\": empty device edits", claim, device));
  }
  if (handle.generation < generation_) {
    return cannot("failed to initialize NVML: Driver/library version mismatch");
  }
  if (applies_to(behaviour.prepare_fails, version_)) {
    return cannot("failed to initialize NVML: Unknown Error");
  }
  return {};
}

}  // namespace lockstep::sim

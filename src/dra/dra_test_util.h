// Files that end the process at a chosen moment: before or after any of their changes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dra/checkpoint.h"
#include "world/files.h"

namespace lockstep::dra {

// Thrown where a process would be killed.
struct Crash {};

class CrashingFiles final : public Files {
 public:
  explicit CrashingFiles(MemoryFiles& disk) : disk_(disk) {}

  Result<std::string> read(const std::string& path) const override { return disk_.read(path); }
  Result<void> write(const std::string& path, std::string_view content, int mode) override {
    step();
    if (refuse_writes) return fail(ErrorKind::internal, "no space left on device", path);
    auto done = disk_.write(path, content, mode);
    step();
    return done;
  }
  Result<void> remove(const std::string& path) override {
    step();
    auto done = disk_.remove(path);
    step();
    return done;
  }
  bool exists(const std::string& path) const override { return disk_.exists(path); }
  Result<std::string> fingerprint(const std::string& path) const override {
    return disk_.fingerprint(path);
  }

  // Steps until the end; nothing: it does not come.
  std::optional<int> steps_left;
  int steps = 0;
  bool refuse_writes = false;

 private:
  void step() {
    ++steps;
    if (steps_left && (*steps_left)-- == 0) throw Crash{};
  }

  MemoryFiles& disk_;
};

inline CheckpointEntry entry_of_claim(const std::string& uid, const std::string& device,
                                      ClaimPhase phase = ClaimPhase::prepared) {
  PreparedDevice prepared;
  prepared.requests = {"gpu"};
  prepared.pool = "node-1";
  prepared.device = device;
  prepared.cdi_ids = {"gpu.lockstep.dev/claim=" + uid + "-" + device};
  return {uid, "default", "claim-" + uid, phase, {prepared}};
}

}  // namespace lockstep::dra

// Files in memory, and files that end the process at a chosen moment: before, in the middle of, or
// after any of their changes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dra/checkpoint.h"
#include "dra/state_files.h"
#include "world/files.h"

namespace lockstep::dra {

class MemoryStateFiles final : public StateFiles {
 public:
  Result<std::string> read(const std::string& path) const override { return files.read(path); }
  Result<void> write(const std::string& path, std::string_view content, int mode) override {
    return files.write(path, content, mode);
  }
  Result<void> remove(const std::string& path) override { return files.remove(path); }
  bool exists(const std::string& path) const override { return files.exists(path); }
  Result<std::string> fingerprint(const std::string& path) const override {
    return files.fingerprint(path);
  }
  Result<void> append(const std::string& path, std::string_view content) override {
    if (!files.exists(path)) return fail(ErrorKind::not_found, "no such file", path);
    files.contents[path] += content;
    ++appends;
    return {};
  }
  Result<void> write_unsynced(const std::string& path, std::string_view content,
                              int mode) override {
    return files.write(path, content, mode);
  }

  MemoryFiles files;
  std::map<std::string, std::string>& contents = files.contents;
  int appends = 0;
};

// Thrown where a process would be killed.
struct Crash {};

class CrashingFiles final : public StateFiles {
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
  Result<void> append(const std::string& path, std::string_view content) override {
    step();
    if (refuse_writes) return fail(ErrorKind::internal, "no space left on device", path);
    // As much as had reached the disk: nothing of it, a part, all but the last byte, all.
    for (size_t part : {size_t{1}, content.size() / 2, content.size() - 1}) {
      std::string whole = disk_.contents[path];
      disk_.contents[path] += content.substr(0, part);
      step();
      disk_.contents[path] = whole;
    }
    disk_.contents[path] += content;
    step();
    return {};
  }
  Result<void> write_unsynced(const std::string& path, std::string_view content,
                              int mode) override {
    step();
    if (refuse_writes) return fail(ErrorKind::internal, "no space left on device", path);
    // A file beside it that is not finished, as a killed process leaves it.
    const std::string beside = path.substr(0, path.rfind('/')) + "/.lockstep-half";
    disk_.contents[beside] = std::string(content.substr(0, content.size() / 2));
    step();
    disk_.contents.erase(beside);
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

// One lock for all instances of the plugin on a node: what they remember is in one file.
#pragma once

#include <string>

#include "base/result.h"
#include "world/descriptor.h"

namespace lockstep::dra {

class StateLock {
 public:
  virtual ~StateLock() = default;
  // Never waits: false when another instance has it.
  virtual bool try_lock() = 0;
  virtual void unlock() = 0;
};

// By flock: a process that is killed gives it back.
class FileLock final : public StateLock {
 public:
  static Result<FileLock> open(const std::string& path);
  bool try_lock() override;
  void unlock() override;

 private:
  explicit FileLock(Descriptor file) : file_(std::move(file)) {}
  Descriptor file_;
};

}  // namespace lockstep::dra

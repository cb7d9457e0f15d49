// How many hold a shared thing. While the process has one thread, as a simulation has, counting
// costs no locked instruction.
#pragma once

#include <atomic>
#include <cstdint>
#include <sys/single_threaded.h>

namespace lockstep {

class ReferenceCount {
 public:
  // For a new object: its creator holds one reference.
  ReferenceCount() noexcept : holders_(1) {}
  ReferenceCount(const ReferenceCount&) = delete;
  ReferenceCount& operator=(const ReferenceCount&) = delete;

  void add() noexcept {
    if (__libc_single_threaded != 0) {
      holders_.store(holders_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    } else {
      holders_.fetch_add(1, std::memory_order_relaxed);
    }
  }
  // True when it was the last.
  bool drop() noexcept {
    if (__libc_single_threaded != 0) {
      const uint32_t left = holders_.load(std::memory_order_relaxed) - 1;
      holders_.store(left, std::memory_order_relaxed);
      return left == 0;
    }
    return holders_.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }
  bool is_shared() const noexcept { return holders_.load(std::memory_order_acquire) > 1; }

 private:
  std::atomic<uint32_t> holders_;
};

}  // namespace lockstep

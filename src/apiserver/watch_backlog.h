// How many bytes are on their way to watches, and which of them has not read for longest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

namespace lockstep::apiserver {

class WatchBacklog {
 public:
  // Of a watch, in the place of what was said before; 0: it holds nothing, or is gone.
  void set(uint64_t watch, size_t bytes);
  size_t bytes() const { return bytes_; }
  std::optional<uint64_t> slowest_but(uint64_t watch) const;

 private:
  struct Entry {
    uint64_t turn = 0;
    size_t bytes = 0;
  };
  std::map<uint64_t, Entry> entries_;
  std::map<uint64_t, uint64_t> by_turn_;  // the one that said something longest ago is first
  uint64_t next_turn_ = 1;
  size_t bytes_ = 0;
};

}  // namespace lockstep::apiserver

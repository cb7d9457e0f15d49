// How many bytes wait in streams for their clients, and which of them has not read for longest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

namespace lockstep::http {

class Backlog {
 public:
  // Of a stream, in the place of what was said before; 0: it holds nothing, or is gone.
  void set(uint64_t stream, size_t bytes);
  size_t bytes() const { return bytes_; }
  std::optional<uint64_t> slowest_but(uint64_t stream) const;

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

}  // namespace lockstep::http

// A short digest of a long history: equal runs have equal digests. Not against malice.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep {

// Streaming; the same on every machine. What is added counts as one item: "ab", "c" differs from
// "a", "bc", and a number from its bytes as text.
class Digest {
 public:
  void add(std::string_view text);
  void add(uint64_t number);

  uint64_t value() const;
  // Sixteen digits.
  std::string hex() const;

 private:
  void mix(uint64_t word);

  uint64_t state_ = 0x27d4eb2f165667c5ULL;
};

}  // namespace lockstep

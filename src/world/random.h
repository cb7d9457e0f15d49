// Random numbers as a part that is handed in: from the system, or from a seed.
#pragma once

#include <cstdint>
#include <string>

namespace lockstep {

class Random {
 public:
  virtual ~Random() = default;
  virtual uint64_t next() = 0;

  // Uniform in [0, bound); 0 for bound 0.
  uint64_t below(uint64_t bound);
  // Uniform in [0, 1).
  double fraction();
  // `length` characters of Kubernetes' name alphabet (no vowels, nothing easy to confuse).
  std::string suffix(size_t length);
  // A version 4 UUID.
  std::string uuid();
};

class SeededRandom final : public Random {
 public:
  explicit SeededRandom(uint64_t seed);
  uint64_t next() override;

 private:
  uint64_t state_[4];
};

class SystemRandom final : public Random {
 public:
  uint64_t next() override;
};

}  // namespace lockstep

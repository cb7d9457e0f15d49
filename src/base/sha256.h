// SHA-256 (FIPS 180-4), for checksums of files and for the digests by which image layers and
// manifests are named. `Digest` is the short one for comparing runs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep {

// Streaming: however the bytes are cut into pieces, the digest is the same.
class Sha256 {
 public:
  using Bytes = std::array<uint8_t, 32>;

  void add(std::string_view bytes);

  // Of what was added so far; more may be added afterwards.
  Bytes bytes() const;
  // Sixty-four digits, lower case, as sha256sum prints them.
  std::string hex() const;

 private:
  static constexpr size_t block_size = 64;

  std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<uint8_t, block_size> rest_ = {};  // what does not fill a block yet
  uint64_t size_ = 0;
};

// Of one piece of text.
std::string sha256_hex(std::string_view bytes);

}  // namespace lockstep

#include "base/sha256.h"

#include <algorithm>

#include "base/sha256_blocks.h"

namespace lockstep {

void Sha256::add(std::string_view bytes) {
  const size_t held = size_ % block_size;
  size_ += bytes.size();
  if (held > 0) {
    const size_t taken = std::min(bytes.size(), block_size - held);
    std::copy_n(bytes.begin(), taken, rest_.begin() + static_cast<ptrdiff_t>(held));
    bytes.remove_prefix(taken);
    if (held + taken < block_size) return;
    take_sha256_blocks(state_, rest_.data(), 1);
  }
  const size_t whole = bytes.size() / block_size;
  take_sha256_blocks(state_, reinterpret_cast<const uint8_t*>(bytes.data()),
                     whole);  // NOLINT: bytes as bytes
  bytes.remove_prefix(whole * block_size);
  std::copy_n(bytes.begin(), bytes.size(), rest_.begin());
}

Sha256::Bytes Sha256::bytes() const {
  // Padding: one bit, zeros, and the length in bits at the end of a block.
  Sha256 last = *this;
  std::string padding(1, '\x80');
  padding.append((block_size * 2 - 9 - size_ % block_size) % block_size, '\0');
  for (int shift = 56; shift >= 0; shift -= 8) {
    padding.push_back(static_cast<char>(size_ * 8 >> shift));
  }
  last.add(padding);
  Bytes result = {};
  for (size_t i = 0; i < result.size(); ++i) {
    result[i] = static_cast<uint8_t>(last.state_[i / 4] >> (24 - 8 * (i % 4)));
  }
  return result;
}

std::string Sha256::hex() const {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const uint8_t byte : bytes()) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

std::string sha256_hex(std::string_view bytes) {
  Sha256 digest;
  digest.add(bytes);
  return digest.hex();
}

}  // namespace lockstep

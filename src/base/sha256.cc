#include "base/sha256.h"

#include <algorithm>
#include <bit>

namespace lockstep {

namespace {

constexpr std::array<uint32_t, 64> round_constants = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

uint32_t big_endian(const uint8_t* at) {
  return uint32_t{at[0]} << 24 | uint32_t{at[1]} << 16 | uint32_t{at[2]} << 8 | uint32_t{at[3]};
}

}  // namespace

void Sha256::take_blocks(const uint8_t* data, size_t blocks) {
  std::array<uint32_t, 64> words;  // NOLINT: filled below; clearing it first costs a tenth
  for (; blocks > 0; --blocks, data += block_size) {
    for (size_t i = 0; i < 16; ++i) words[i] = big_endian(data + 4 * i);
    for (size_t i = 16; i < 64; ++i) {
      const uint32_t near = words[i - 2];
      const uint32_t far = words[i - 15];
      words[i] = words[i - 16] + words[i - 7] +
                 (std::rotr(far, 7) ^ std::rotr(far, 18) ^ far >> 3) +
                 (std::rotr(near, 17) ^ std::rotr(near, 19) ^ near >> 10);
    }
    auto [a, b, c, d, e, f, g, h] = state_;
    for (size_t i = 0; i < 64; ++i) {
      const uint32_t first = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                             (g ^ (e & (f ^ g))) + round_constants[i] + words[i];
      const uint32_t second =
          (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) | (c & (a | b)));
      h = g;
      g = f;
      f = e;
      e = d + first;
      d = c;
      c = b;
      b = a;
      a = first + second;
    }
    const std::array<uint32_t, 8> worked = {a, b, c, d, e, f, g, h};
    for (size_t i = 0; i < worked.size(); ++i) state_[i] += worked[i];
  }
}

void Sha256::add(std::string_view bytes) {
  const size_t held = size_ % block_size;
  size_ += bytes.size();
  if (held > 0) {
    const size_t taken = std::min(bytes.size(), block_size - held);
    std::copy_n(bytes.begin(), taken, rest_.begin() + static_cast<ptrdiff_t>(held));
    bytes.remove_prefix(taken);
    if (held + taken < block_size) return;
    take_blocks(rest_.data(), 1);
  }
  const size_t whole = bytes.size() / block_size;
  take_blocks(reinterpret_cast<const uint8_t*>(bytes.data()), whole);  // NOLINT: bytes as bytes
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

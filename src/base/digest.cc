#include "base/digest.h"

#include <bit>
#include <cstring>

#include <fmt/format.h>

namespace lockstep {

namespace {

static_assert(std::endian::native == std::endian::little, "the digest reads words as they lie");

// Odd numbers with well-spread bits, those of xxHash64.
constexpr uint64_t prime_1 = 0x9e3779b185ebca87ULL;
constexpr uint64_t prime_2 = 0xc2b2ae3d27d4eb4fULL;
constexpr uint64_t prime_3 = 0x165667b19e3779f9ULL;
constexpr uint64_t prime_4 = 0x85ebca77c2b2ae63ULL;

// Keeps texts and numbers apart; a length never reaches the high bit.
constexpr uint64_t text_mark = uint64_t{1} << 63;
constexpr uint64_t number_mark = 1;

}  // namespace

void Digest::mix(uint64_t word) {
  state_ ^= std::rotl(word * prime_2, 31) * prime_1;
  state_ = std::rotl(state_, 27) * prime_1 + prime_4;
}

void Digest::add(std::string_view text) {
  mix(text_mark | text.size());
  while (text.size() >= sizeof(uint64_t)) {
    uint64_t word;
    std::memcpy(&word, text.data(), sizeof word);
    mix(word);
    text.remove_prefix(sizeof word);
  }
  if (text.empty()) return;
  uint64_t word = 0;
  std::memcpy(&word, text.data(), text.size());
  mix(word);
}

void Digest::add(uint64_t number) {
  mix(number_mark);
  mix(number);
}

uint64_t Digest::value() const {
  uint64_t result = state_;
  result = (result ^ (result >> 33)) * prime_2;
  result = (result ^ (result >> 29)) * prime_3;
  return result ^ (result >> 32);
}

std::string Digest::hex() const { return fmt::format("{:016x}", value()); }

}  // namespace lockstep

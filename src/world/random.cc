#include "world/random.h"

#include <bit>
#include <cerrno>
#include <string_view>
#include <sys/random.h>
#include <system_error>

namespace lockstep {

namespace {

__extension__ using Wide = unsigned __int128;

// Spreads one seed over a whole state: near seeds give unrelated states, and none is all zero.
uint64_t splitmix64(uint64_t& state) {
  state += 0x9e3779b97f4a7c15ULL;
  uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

}  // namespace

uint64_t Random::below(uint64_t bound) {
  if (bound == 0) return 0;
  // The upper half of next() * bound. The few products whose lower half falls below 2^64 mod bound
  // would favour some results, so they are drawn again.
  Wide product = static_cast<Wide>(next()) * bound;
  if (static_cast<uint64_t>(product) < bound) {
    const uint64_t surplus = (0 - bound) % bound;
    while (static_cast<uint64_t>(product) < surplus) product = static_cast<Wide>(next()) * bound;
  }
  return static_cast<uint64_t>(product >> 64);
}

double Random::fraction() {
  // A double holds 53 bits exactly.
  return static_cast<double>(next() >> 11) * 0x1.0p-53;
}

std::string Random::suffix(size_t length) {
  constexpr std::string_view alphabet = "bcdfghjklmnpqrstvwxz2456789";
  std::string text(length, '\0');
  for (char& c : text) c = alphabet[below(alphabet.size())];
  return text;
}

std::string Random::uuid() {
  constexpr std::string_view digits = "0123456789abcdef";
  uint64_t high = next();
  uint64_t low = next();
  high = (high & ~0xf000ULL) | 0x4000ULL;                        // version 4
  low = (low & ~0xc000000000000000ULL) | 0x8000000000000000ULL;  // RFC 4122 variant
  std::string text;
  text.reserve(36);
  for (int i = 0; i < 32; ++i) {
    if (i == 8 || i == 12 || i == 16 || i == 20) text += '-';
    const uint64_t half = i < 16 ? high : low;
    text += digits[half >> (60 - 4 * (i % 16)) & 15];
  }
  return text;
}

SeededRandom::SeededRandom(uint64_t seed) {
  for (uint64_t& word : state_) word = splitmix64(seed);
}

// xoshiro256** by David Blackman and Sebastiano Vigna.
uint64_t SeededRandom::next() {
  const uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

uint64_t SystemRandom::next() {
  uint64_t value = 0;
  for (;;) {
    // Up to 256 bytes come whole or not at all.
    const ssize_t count = getrandom(&value, sizeof value, 0);
    if (count == static_cast<ssize_t>(sizeof value)) return value;
    if (count < 0 && errno != EINTR) {
      throw std::system_error(errno, std::generic_category(), "getrandom");
    }
  }
}

}  // namespace lockstep

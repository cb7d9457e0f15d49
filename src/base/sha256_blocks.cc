#include "base/sha256_blocks.h"

#include <bit>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace lockstep {

namespace {

constexpr size_t block_size = 64;

alignas(16) constexpr std::array<uint32_t, 64> round_constants = {
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

void take_sha256_blocks_by_arithmetic(Sha256State& state, const uint8_t* data, size_t blocks) {
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
    auto [a, b, c, d, e, f, g, h] = state;
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
    for (size_t i = 0; i < worked.size(); ++i) state[i] += worked[i];
  }
}

#if defined(__x86_64__)

bool has_sha256_instructions() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  constexpr unsigned sha_bit = 1U << 29;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & sha_bit) != 0 &&
         __builtin_cpu_supports("sse4.1") != 0;
}

// The state is held as the instructions want it: a, b, e, f in one register, c, d, g, h in another.
// Each pair of sha256rnds2 makes four rounds; the words of the next sixteen rounds are made from
// the last sixteen, four at a time.
__attribute__((target("sha,sse4.1"))) void take_sha256_blocks_by_instructions(Sha256State& state,
                                                                              const uint8_t* data,
                                                                              size_t blocks) {
  // NOLINTBEGIN(cppcoreguidelines-pro-type-reinterpret-cast): registers are loaded through casts.
  auto* memory = reinterpret_cast<__m128i*>(state.data());
  const auto* constants = reinterpret_cast<const __m128i*>(round_constants.data());
  const __m128i from_big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  const __m128i cdab = _mm_shuffle_epi32(_mm_loadu_si128(memory), 0xB1);
  const __m128i hgfe = _mm_shuffle_epi32(_mm_loadu_si128(memory + 1), 0x1B);
  __m128i abef = _mm_alignr_epi8(cdab, hgfe, 8);
  __m128i cdgh = _mm_blend_epi16(hgfe, cdab, 0xF0);
  for (; blocks > 0; --blocks, data += block_size) {
    const __m128i abef_before = abef;
    const __m128i cdgh_before = cdgh;
    __m128i words[4];
    for (size_t i = 0; i < 4; ++i) {
      words[i] = _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(data) + i),
                                  from_big_endian);
    }
#pragma GCC unroll 16
    for (size_t i = 0; i < 16; ++i) {
      __m128i& now = words[i % 4];
      if (i >= 4) {
        const __m128i& newest = words[(i + 3) % 4];
        now = _mm_sha256msg2_epu32(_mm_add_epi32(_mm_sha256msg1_epu32(now, words[(i + 1) % 4]),
                                                 _mm_alignr_epi8(newest, words[(i + 2) % 4], 4)),
                                   newest);
      }
      const __m128i mixed = _mm_add_epi32(now, _mm_load_si128(constants + i));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, mixed);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(mixed, 0x0E));
    }
    abef = _mm_add_epi32(abef, abef_before);
    cdgh = _mm_add_epi32(cdgh, cdgh_before);
  }
  const __m128i feba = _mm_shuffle_epi32(abef, 0x1B);
  const __m128i dchg = _mm_shuffle_epi32(cdgh, 0xB1);
  _mm_storeu_si128(memory, _mm_blend_epi16(feba, dchg, 0xF0));
  _mm_storeu_si128(memory + 1, _mm_alignr_epi8(dchg, feba, 8));
  // NOLINTEND(cppcoreguidelines-pro-type-reinterpret-cast)
}

#else

bool has_sha256_instructions() { return false; }

void take_sha256_blocks_by_instructions(Sha256State& state, const uint8_t* data, size_t blocks) {
  take_sha256_blocks_by_arithmetic(state, data, blocks);
}

#endif

void take_sha256_blocks(Sha256State& state, const uint8_t* data, size_t blocks) {
  static const bool fast = has_sha256_instructions();
  if (fast) {
    take_sha256_blocks_by_instructions(state, data, blocks);
  } else {
    take_sha256_blocks_by_arithmetic(state, data, blocks);
  }
}

}  // namespace lockstep

// JSON documents out of a fuzzer's bytes. Documents and patches share a small vocabulary, so that
// they meet: random text would hardly ever name a field that exists.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "data/json.h"

namespace lockstep::fuzz {

class Bytes {
 public:
  Bytes(const uint8_t* data, size_t size) : at_(data), end_(data + size) {}

  // From zero to below `limit`; zeros when the bytes are used up, so that everything ends.
  size_t below(size_t limit) { return at_ == end_ ? 0 : *at_++ % limit; }
  bool any() const { return at_ != end_; }

  template <size_t count>
  std::string_view one_of(const std::array<std::string_view, count>& choices) {
    return choices[below(count)];
  }

 private:
  const uint8_t* at_;
  const uint8_t* end_;
};

template <size_t count>
Json scalar_from(Bytes& bytes, const std::array<std::string_view, count>& words) {
  switch (bytes.below(5)) {
    case 0:
      return nullptr;
    case 1:
      return bytes.below(2) == 1;
    case 2:
      return static_cast<int64_t>(bytes.below(4));
    case 3:
      return static_cast<double>(bytes.below(8)) / 2;
    default:
      return Json(bytes.one_of(words));
  }
}

// Objects have keys of `words`, strings are of `words`.
template <size_t count>
Json document_from(Bytes& bytes, const std::array<std::string_view, count>& words, int depth = 5) {
  const size_t kind = bytes.any() && depth > 0 ? bytes.below(3) : 0;
  if (kind == 0) return scalar_from(bytes, words);
  const size_t size = bytes.below(5);
  if (kind == 1) {
    JsonArray array;
    for (size_t i = 0; i < size; ++i) array.push_back(document_from(bytes, words, depth - 1));
    return array;
  }
  JsonObject object;
  for (size_t i = 0; i < size; ++i) {
    const std::string_view key = bytes.one_of(words);
    object.insert_or_assign(key, document_from(bytes, words, depth - 1));
  }
  return object;
}

// A promise that does not hold ends the program, which is how libFuzzer learns of it.
inline void require(bool holds, std::string_view promise) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %.*s\n", static_cast<int>(promise.size()), promise.data());
  std::abort();
}

}  // namespace lockstep::fuzz

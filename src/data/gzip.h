// Compressed text (RFC 1952). The same text gives the same bytes: no time and no name in the
// header.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace lockstep {

// A string compressed piece by piece.
class Gzip {
 public:
  // 1 is fast, 9 is small.
  explicit Gzip(int level = 1);
  ~Gzip();
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;

  // What is ready of the compressed text after this piece; all of it once `last`.
  std::string add(std::string_view piece, bool last);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// One text, whole. More than `limit` bytes of it is an error: a few bytes can hide gigabytes.
Result<std::string> gunzip(std::string_view compressed, size_t limit = 256 << 20);

}  // namespace lockstep

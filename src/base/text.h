// Text: an immutable string of eight bytes that is cheap to copy. Up to seven characters live
// inside; longer ones are shared and counted. A TextPool gives equal strings the same storage, so
// that ten thousand nodes with the same labels pay for them once.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/reference_count.h"
#include "base/sanitizers.h"

namespace lockstep {

class Text {
 public:
  Text() noexcept : bits_(0) {}
  Text(std::string_view text);                                     // NOLINT: converts like a string
  Text(const char* text) : Text(std::string_view(text)) {}         // NOLINT
  Text(const std::string& text) : Text(std::string_view(text)) {}  // NOLINT
  Text(const Text& other) noexcept : bits_(other.bits_) {
    if (is_shared()) shared()->references.add();
  }
  Text(Text&& other) noexcept : bits_(std::exchange(other.bits_, 0)) {}
  Text& operator=(const Text& other) noexcept {
    Text copy(other);
    swap(copy);
    return *this;
  }
  Text& operator=(Text&& other) noexcept {
    Text taken(std::move(other));
    swap(taken);
    return *this;
  }
  ~Text() {
    if (is_shared()) release();
  }

  void swap(Text& other) noexcept { std::swap(bits_, other.bits_); }

  // Valid as long as this value: a short text is stored inside it.
  std::string_view view() const noexcept {
    if (is_shared()) return {shared()->characters, shared()->size};
    return {reinterpret_cast<const char*>(&bits_) + 1, static_cast<size_t>((bits_ & 0xff) >> 1)};
  }
  operator std::string_view() const noexcept { return view(); }  // NOLINT
  std::string str() const { return std::string(view()); }
  bool empty() const noexcept { return bits_ == 0; }
  size_t size() const noexcept { return view().size(); }

  friend bool operator==(const Text& a, const Text& b) noexcept {
    return a.bits_ == b.bits_ ||
           (a.is_shared() && b.is_shared() && a.mark() == b.mark() && a.view() == b.view());
  }
  friend bool operator==(const Text& a, std::string_view b) noexcept { return a.view() == b; }
  friend bool operator==(const Text& a, const char* b) noexcept { return a.view() == b; }
  friend bool operator==(const Text& a, const std::string& b) noexcept { return a.view() == b; }
  friend std::strong_ordering operator<=>(const Text& a, const Text& b) noexcept {
    return a.view() <=> b.view();
  }
  friend std::strong_ordering operator<=>(const Text& a, std::string_view b) noexcept {
    return a.view() <=> b;
  }
  friend std::strong_ordering operator<=>(const Text& a, const char* b) noexcept {
    return a.view() <=> std::string_view(b);
  }
  friend std::strong_ordering operator<=>(const Text& a, const std::string& b) noexcept {
    return a.view() <=> std::string_view(b);
  }

  // Of texts up to inline_limit, equal bits mean equal texts.
  static constexpr size_t inline_limit = 7;
  uint64_t bits() const noexcept { return bits_; }
  // For longer texts: different marks mean different texts, so a search among many need not read
  // each of them from memory.
  uint16_t mark() const noexcept { return static_cast<uint16_t>(bits_ >> mark_shift); }
  static uint16_t mark_of(std::string_view text) noexcept {
    // Leak detectors do not recognise a pointer with a mark.
    if (sanitized) return 0;
    return static_cast<uint16_t>(text.size() + 0x6d * static_cast<unsigned char>(text.back()) +
                                 0x1f3 * static_cast<unsigned char>(text[text.size() / 2]));
  }

  // Bytes on the heap that this one value holds, its share counted in full.
  size_t heap_bytes() const noexcept;

 private:
  struct Shared {
    ReferenceCount references;
    uint32_t size;
    char characters[1];
  };
  // Little-endian layout: an odd low byte marks an inline string (size * 2 + 1, then characters);
  // an even non-zero value is a pointer, whose highest 16 bits, which no address uses, hold the
  // mark; zero is the empty string.
  static constexpr int mark_shift = 48;
  bool is_shared() const noexcept { return (bits_ & 1) == 0 && bits_ != 0; }
  Shared* shared() const noexcept {
    return reinterpret_cast<Shared*>(bits_ & ((uint64_t{1} << mark_shift) - 1));  // NOLINT
  }
  void release() noexcept;

  uint64_t bits_;
};

// Hands out one Text for equal strings. Bounded: each string has one slot, in which another may
// replace it, which costs sharing, never correctness. Not thread-safe; each decoder has its own.
class TextPool {
 public:
  // Rounded up to a power of two.
  explicit TextPool(size_t slots = 1 << 16);
  Text intern(std::string_view text);

 private:
  std::vector<Text> slots_;
};

}  // namespace lockstep

template <>
struct std::hash<lockstep::Text> {
  size_t operator()(const lockstep::Text& text) const noexcept {
    return std::hash<std::string_view>()(text.view());
  }
};

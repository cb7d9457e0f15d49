#include "base/text.h"

#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <stdexcept>

namespace lockstep {

namespace {
constexpr size_t inline_limit = 7;
}

Text::Text(std::string_view text) : bits_(0) {
  if (text.empty()) return;
  if (text.size() <= inline_limit) {
    unsigned char bytes[8] = {};
    bytes[0] = static_cast<unsigned char>(text.size() * 2 + 1);
    std::memcpy(bytes + 1, text.data(), text.size());
    std::memcpy(&bits_, bytes, sizeof bits_);
    return;
  }
  if (text.size() > std::numeric_limits<uint32_t>::max()) throw std::length_error("Text too long");
  void* memory = std::malloc(offsetof(Shared, characters) + text.size());
  if (memory == nullptr) throw std::bad_alloc();
  auto* block = static_cast<Shared*>(memory);
  new (&block->references) std::atomic<uint32_t>(1);
  block->size = static_cast<uint32_t>(text.size());
  std::memcpy(block->characters, text.data(), text.size());
  bits_ = reinterpret_cast<uint64_t>(block);
}

std::string_view Text::view() const noexcept {
  if (bits_ == 0) return {};
  if (is_inline()) {
    return {reinterpret_cast<const char*>(&bits_) + 1, static_cast<size_t>((bits_ & 0xff) >> 1)};
  }
  return {shared()->characters, shared()->size};
}

void Text::retain() const noexcept {
  if (bits_ != 0 && !is_inline()) shared()->references.fetch_add(1, std::memory_order_relaxed);
}

void Text::release() noexcept {
  if (bits_ == 0 || is_inline()) return;
  if (shared()->references.fetch_sub(1, std::memory_order_acq_rel) == 1) std::free(shared());
  bits_ = 0;
}

size_t Text::heap_bytes() const noexcept {
  if (bits_ == 0 || is_inline()) return 0;
  return offsetof(Shared, characters) + shared()->size;
}

TextPool::TextPool(size_t slots) : slots_(slots) {}

Text TextPool::intern(std::string_view text) {
  if (text.size() <= inline_limit) return Text(text);
  // Direct-mapped: a slot remembers the last string that hashed to it.
  Text& slot = slots_[std::hash<std::string_view>()(text) % slots_.size()];
  if (!(slot == text)) slot = Text(text);
  return slot;
}

}  // namespace lockstep

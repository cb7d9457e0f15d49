#include "base/text.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <stdexcept>

namespace lockstep {

namespace {

constexpr size_t inline_limit = Text::inline_limit;

static_assert(std::endian::native == std::endian::little, "the low byte must lie first");
static_assert(alignof(std::max_align_t) > 1, "a pointer must be even");

// For strings longer than inline_limit only. Made for speed: it picks a slot, and a collision there
// costs little.
uint64_t slot_hash(std::string_view text) {
  constexpr uint64_t factor = 0x9e3779b97f4a7c15ULL;
  const auto word_at = [&](size_t position) {
    uint64_t word;
    std::memcpy(&word, text.data() + position, sizeof word);
    return word;
  };
  uint64_t hash = text.size();
  for (size_t i = 0; i + 8 < text.size(); i += 8) {
    hash = std::rotl((hash ^ word_at(i)) * factor, 29);
  }
  hash ^= word_at(text.size() - 8);  // may overlap the word before
  // Names differ mostly in their last characters, the highest bits, and a product carries upwards
  // only: they are brought down first.
  hash = (hash ^ (hash >> 32)) * factor;
  hash = (hash ^ (hash >> 32)) * factor;
  return hash >> 32;
}

}  // namespace

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
  void* memory = std::malloc(std::max(offsetof(Shared, characters) + text.size(), sizeof(Shared)));
  if (memory == nullptr) throw std::bad_alloc();
  auto* block = static_cast<Shared*>(memory);
  new (&block->references) ReferenceCount;
  block->size = static_cast<uint32_t>(text.size());
  std::memcpy(reinterpret_cast<char*>(block) + offsetof(Shared, characters), text.data(),
              text.size());
  bits_ = reinterpret_cast<uint64_t>(block);
  // An address with more bits is only given to a process that asks for one.
  if (bits_ >> mark_shift != 0) std::abort();
  bits_ |= static_cast<uint64_t>(mark_of(text)) << mark_shift;
}

void Text::release() noexcept {
  if (shared()->references.drop()) std::free(shared());
  bits_ = 0;
}

size_t Text::heap_bytes() const noexcept {
  return is_shared() ? offsetof(Shared, characters) + shared()->size : 0;
}

TextPool::TextPool(size_t slots) : slots_(std::bit_ceil(std::max<size_t>(slots, 1))) {}

Text TextPool::intern(std::string_view text) {
  if (text.size() <= inline_limit) return Text(text);
  Text& slot = slots_[slot_hash(text) & (slots_.size() - 1)];
  if (slot != text) slot = Text(text);
  return slot;
}

}  // namespace lockstep

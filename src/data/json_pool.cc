#include "data/json_pool.h"

#include <array>
#include <cstddef>
#include <new>

#include "base/sanitizers.h"

namespace lockstep {

namespace {

constexpr size_t alignment = 16;  // as malloc's
constexpr size_t largest = 4096;
constexpr size_t chunk_size = 256 << 10;

struct FreeBlock {
  FreeBlock* next;
};

// One per thread, without a destructor: documents may be dropped after everything else is gone.
struct FreeLists {
  std::array<FreeBlock*, largest / alignment + 1> by_size;
  std::byte* fresh;
  size_t fresh_size;
};
constinit thread_local FreeLists lists{};

bool is_foreign(size_t size) { return sanitized || size == 0 || size > largest; }

void* carve(size_t size) {
  if (lists.fresh_size < size) {
    // What is left of the last chunk is a free block of its own size.
    if (lists.fresh_size > 0) {
      FreeBlock*& first = lists.by_size[lists.fresh_size / alignment];
      first = new (lists.fresh) FreeBlock{first};
    }
    lists.fresh = static_cast<std::byte*>(::operator new(chunk_size));
    lists.fresh_size = chunk_size;
  }
  void* block = lists.fresh;
  lists.fresh += size;
  lists.fresh_size -= size;
  return block;
}

}  // namespace

void* take_json_block(size_t size) {
  if (is_foreign(size)) return ::operator new(size);
  const size_t steps = (size + alignment - 1) / alignment;
  FreeBlock*& first = lists.by_size[steps];
  if (first == nullptr) return carve(steps * alignment);
  FreeBlock* block = first;
  first = block->next;
  return block;
}

void give_json_block(void* block, size_t size) noexcept {
  if (is_foreign(size)) {
    ::operator delete(block);
    return;
  }
  FreeBlock*& first = lists.by_size[(size + alignment - 1) / alignment];
  first = new (block) FreeBlock{first};
}

}  // namespace lockstep

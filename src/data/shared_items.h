// A list of items that copies share until one of them changes it: a copy is a pointer. Made for
// JsonArray and JsonObject, which are the ones to include.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "base/reference_count.h"
#include "data/json_pool.h"

namespace lockstep {

// Items are moved in memory by their bytes, so they must not know where they lie. A list that may
// become long can ask for places of an index behind its items: Item::index_places(capacity).
template <typename Item>
class SharedItems {
 public:
  SharedItems() noexcept = default;
  SharedItems(const SharedItems& other) noexcept : block_(other.block_) {
    if (block_ != nullptr) block_->references.add();
  }
  SharedItems(SharedItems&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  SharedItems& operator=(const SharedItems& other) noexcept {
    SharedItems copy(other);
    std::swap(block_, copy.block_);
    return *this;
  }
  SharedItems& operator=(SharedItems&& other) noexcept {
    SharedItems taken(std::move(other));
    std::swap(block_, taken.block_);
    return *this;
  }
  ~SharedItems() {
    if (block_ != nullptr && block_->references.drop()) destroy(block_);
  }

  size_t size() const noexcept { return block_ == nullptr ? 0 : block_->size; }
  const Item* begin() const noexcept { return block_ == nullptr ? nullptr : items_of(block_); }
  const Item* end() const noexcept { return begin() + size(); }
  // One is a copy of the other, and neither was changed since.
  bool is_same(const SharedItems& other) const noexcept { return block_ == other.block_; }

  // The items, for changes. Other owners keep the values that they share. True: they were copied.
  bool make_own() {
    if (block_ == nullptr || !block_->references.is_shared()) return false;
    move_to(block_->size);
    return true;
  }
  // Only after make_own().
  Item* own() noexcept { return block_ == nullptr ? nullptr : items_of(block_); }

  // Room for `count` items in unshared memory. True: the items have moved.
  bool make_room(size_t count) {
    if (count == 0) return make_own();
    constexpr size_t fewest = 4;
    const bool fits = count <= capacity();
    if (fits && !block_->references.is_shared()) return false;
    move_to(fits ? std::max(count, size()) : std::max({count, 2 * size(), fewest}));
    return true;
  }

  // Those below come after make_room() or make_own().
  Item& append(Item item) noexcept {
    Item* place = own() + block_->size++;
    return *new (static_cast<void*>(place)) Item(std::move(item));
  }
  Item* insert(size_t at, Item item) noexcept {
    Item* place = own() + at;
    std::memmove(static_cast<void*>(place + 1), static_cast<const void*>(place),
                 (block_->size - at) * sizeof(Item));
    ++block_->size;
    return new (static_cast<void*>(place)) Item(std::move(item));
  }
  void erase(size_t at, size_t count) noexcept {
    Item* place = own() + at;
    std::destroy_n(place, count);
    std::memmove(static_cast<void*>(place), static_cast<const void*>(place + count),
                 (block_->size - at - count) * sizeof(Item));
    block_->size -= static_cast<uint32_t>(count);
  }
  // The last item takes its place.
  void erase_unordered(size_t at) noexcept {
    Item* place = own() + at;
    std::destroy_at(place);
    --block_->size;
    if (at != block_->size) {
      std::memcpy(static_cast<void*>(place), static_cast<const void*>(own() + block_->size),
                  sizeof(Item));
    }
  }

  size_t capacity() const noexcept { return block_ == nullptr ? 0 : block_->capacity; }
  // The places behind the items; null if there is no index.
  uint32_t* index() const noexcept {
    if (block_ == nullptr || Item::index_places(block_->capacity) == 0) return nullptr;
    return reinterpret_cast<uint32_t*>(items_of(block_) + block_->capacity);
  }

 private:
  struct alignas(8) Block {
    ReferenceCount references;
    uint32_t size = 0;
    uint32_t capacity = 0;
  };
  static Item* items_of(Block* block) noexcept {
    return reinterpret_cast<Item*>(reinterpret_cast<std::byte*>(block) + sizeof(Block));
  }
  static size_t bytes_of(size_t capacity) noexcept {
    return sizeof(Block) + capacity * sizeof(Item) +
           Item::index_places(capacity) * sizeof(uint32_t);
  }

  void move_to(size_t capacity) {
    Block* fresh = new (take_json_block(bytes_of(capacity))) Block;
    fresh->capacity = static_cast<uint32_t>(capacity);
    Block* old = std::exchange(block_, fresh);
    if (old == nullptr) return;
    fresh->size = old->size;
    if (old->references.is_shared()) {
      std::uninitialized_copy_n(items_of(old), old->size, items_of(fresh));
      if (old->references.drop()) destroy(old);
      return;
    }
    std::memcpy(static_cast<void*>(items_of(fresh)), static_cast<const void*>(items_of(old)),
                old->size * sizeof(Item));
    give_json_block(old, bytes_of(old->capacity));
  }

  static void destroy(Block* block) noexcept {
    std::destroy_n(items_of(block), block->size);
    give_json_block(block, bytes_of(block->capacity));
  }

  Block* block_ = nullptr;
};

}  // namespace lockstep

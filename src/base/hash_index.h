// A hash table of pointers to items that are stored elsewhere, in an ordered map or set. It finds
// one of a hundred thousand items by key in one or two memory accesses, where an ordered tree
// needs seventeen. The table knows nothing of keys: the caller supplies the hash and the
// comparison.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

namespace lockstep {

template <typename Item>
class HashIndex {
 public:
  // The item with that hash for which `is_it` returns true; null if not found.
  template <typename IsIt>
  Item* find(size_t hash, const IsIt& is_it) const {
    if (places_.empty()) return nullptr;
    for (size_t at = home(hash); places_[at].item != nullptr; at = next(at)) {
      if (places_[at].hash == hash && is_it(*places_[at].item)) return places_[at].item;
    }
    return nullptr;
  }

  // It must not be there yet.
  void insert(size_t hash, Item* item) {
    if (2 * (size_ + 1) > places_.size()) grow();
    put({hash, item});
    ++size_;
  }

  void erase(size_t hash, const Item* item) {
    if (places_.empty()) return;
    size_t at = home(hash);
    while (places_[at].item != item) {
      if (places_[at].item == nullptr) return;
      at = next(at);
    }
    --size_;
    // What was pushed on by others moves back, so that no search ends too soon.
    for (size_t hole = at;;) {
      at = next(at);
      const Place& place = places_[at];
      if (place.item == nullptr) {
        places_[hole] = {};
        return;
      }
      const size_t distance = (at - home(place.hash)) & mask();
      if (distance < ((at - hole) & mask())) continue;
      places_[hole] = place;
      hole = at;
    }
  }

  void clear() {
    places_.clear();
    size_ = 0;
  }
  size_t size() const { return size_; }

 private:
  struct Place {
    size_t hash = 0;
    Item* item = nullptr;
  };

  size_t mask() const { return places_.size() - 1; }
  size_t home(size_t hash) const { return hash & mask(); }
  size_t next(size_t at) const { return (at + 1) & mask(); }

  void put(Place place) {
    size_t at = home(place.hash);
    while (places_[at].item != nullptr) at = next(at);
    places_[at] = place;
  }

  void grow() {
    std::vector<Place> old = std::exchange(places_, {});
    places_.resize(old.empty() ? 16 : 2 * old.size());
    for (const Place& place : old) {
      if (place.item != nullptr) put(place);
    }
  }

  std::vector<Place> places_;  // a power of two of them, at most half of them taken
  size_t size_ = 0;
};

// Of one name, or of a namespace and a name.
inline size_t hash_of(std::string_view name) { return std::hash<std::string_view>()(name); }
inline size_t hash_of(std::string_view ns, std::string_view name) {
  return hash_of(name) + (ns.empty() ? 0 : 31 * hash_of(ns));
}

}  // namespace lockstep

// A std::map with a search by hash: for maps with many lookups that are walked, in the order of
// their keys, now and then.
#pragma once

#include <map>
#include <stdexcept>
#include <utility>

#include "base/hash_index.h"

namespace lockstep {

// Keys are equal when their hash_of() and they themselves are.
template <typename Key, typename Value>
class IndexedMap {
 public:
  using Map = std::map<Key, Value>;
  using Entry = typename Map::value_type;

  IndexedMap() = default;
  // The index points into the map.
  IndexedMap(const IndexedMap&) = delete;
  IndexedMap& operator=(const IndexedMap&) = delete;
  IndexedMap(IndexedMap&&) = default;
  IndexedMap& operator=(IndexedMap&&) = default;

  // Null if not found.
  template <typename Wanted>
  Value* find(const Wanted& key) {
    Entry* entry = look_up(key);
    return entry == nullptr ? nullptr : &entry->second;
  }
  template <typename Wanted>
  const Value* find(const Wanted& key) const {
    const Entry* entry = look_up(key);
    return entry == nullptr ? nullptr : &entry->second;
  }
  template <typename Wanted>
  bool contains(const Wanted& key) const {
    return look_up(key) != nullptr;
  }
  // The key as stored in the map, at a stable address until it is erased. Null if not found.
  template <typename Wanted>
  const Key* key_of(const Wanted& key) const {
    const Entry* entry = look_up(key);
    return entry == nullptr ? nullptr : &entry->first;
  }
  Value& at(const Key& key) {
    if (Value* value = find(key)) return *value;
    throw std::out_of_range("IndexedMap::at");
  }
  const Value& at(const Key& key) const {
    if (const Value* value = find(key)) return *value;
    throw std::out_of_range("IndexedMap::at");
  }

  // The value, made when it was missing, and whether it was made.
  std::pair<Value&, bool> try_emplace(const Key& key) {
    if (Value* value = find(key)) return {*value, false};
    auto at = map_.try_emplace(key).first;
    index_.insert(hash_of(key), &*at);
    return {at->second, true};
  }
  Value& operator[](const Key& key) { return try_emplace(key).first; }

  bool erase(const Key& key) {
    Entry* entry = look_up(key);
    if (entry == nullptr) return false;
    index_.erase(hash_of(key), entry);
    map_.erase(entry->first);
    return true;
  }

  size_t size() const { return map_.size(); }
  bool empty() const { return map_.empty(); }
  // In the order of the keys.
  const Map& in_order() const { return map_; }
  auto begin() { return map_.begin(); }
  auto end() { return map_.end(); }
  auto begin() const { return map_.begin(); }
  auto end() const { return map_.end(); }

 private:
  template <typename Wanted>
  Entry* look_up(const Wanted& key) const {
    return index_.find(hash_of(key), [&](const Entry& entry) { return entry.first == key; });
  }

  Map map_;
  HashIndex<Entry> index_;
};

}  // namespace lockstep

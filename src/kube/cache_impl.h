// The longer functions of Cache<T>, CacheFeed<T> and CachedResource<T>; included by
// cache_instances.cc, and by tests that have a type of their own.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kube/cache.h"
#include "kube/cache_feed.h"
#include "kube/typed.h"

namespace lockstep::kube {

template <typename T>
Cache<T>::Cache(std::vector<Index> indexes) {
  for (Index& index : indexes) indexes_.push_back(IndexState{std::move(index), {}});
}

template <typename T>
Cache<T>::~Cache() = default;

template <typename T>
std::vector<typename Cache<T>::Object> Cache<T>::find_all(std::string_view index,
                                                          std::string_view value) const {
  std::vector<Object> found;
  for_each(index, value, [&](const Object& object) { found.push_back(object); });
  return found;
}

template <typename T>
void Cache<T>::expect(const ObjectKey& key, std::string_view version) {
  if (is_at_least(version_, version)) return;
  const Slot* slot = slot_of(key);
  if (slot != nullptr && is_at_least(slot->object->meta.resource_version, version)) return;
  expectations_.expect(key, version);
}

template <typename T>
void Cache<T>::expect_deleted(const ObjectKey& key, std::string_view uid) {
  const Slot* slot = slot_of(key);
  if (slot == nullptr || slot->object->meta.uid != uid || slot->object->meta.is_deleting()) return;
  expectations_.expect_deleted(key, uid);
}

template <typename T>
bool Cache<T>::is_at_least(std::string_view seen, std::string_view wanted) {
  VersionOrder order = compare_versions(seen, wanted);
  return order == VersionOrder::newer || order == VersionOrder::same;
}

template <typename T>
bool Cache<T>::is_same(const T& a, const T& b) {
  if (!(a.meta.uid == b.meta.uid)) return false;
  if (a.meta.resource_version.empty()) return a == b;
  return a.meta.resource_version == b.meta.resource_version;
}

template <typename T>
std::vector<Text> Cache<T>::values_of(const IndexState& state, const T& object) const {
  std::vector<Text> values;
  state.index.values(object, values);
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

template <typename T>
void Cache<T>::enter(IndexState& state, const Text& value, const Slot& slot) {
  state.buckets[value].insert(&slot);
}

template <typename T>
void Cache<T>::leave(IndexState& state, const Text& value, const Slot& slot) {
  Bucket* bucket = state.buckets.find(value);
  if (bucket == nullptr) return;
  bucket->erase(&slot);
  if (bucket->empty()) state.buckets.erase(value);
}

template <typename T>
void Cache<T>::put(Object object, std::vector<Change>& changes) {
  const Slot* slot = slot_of(object->meta);
  if (slot == nullptr) {
    // Lists come in nearly this order, so the end is the likely place.
    slot = &*slots_.insert(slots_.end(), Slot{object});
    by_hash_.insert(hash_of(slot->key().ns, slot->key().name), slot);
    for (IndexState& state : indexes_) {
      for (const Text& value : values_of(state, *object)) enter(state, value, *slot);
    }
    changes.push_back(Change{nullptr, std::move(object)});
    return;
  }
  Object before = slot->object;
  if (is_same(*before, *object)) return;
  slot->object = object;
  for (IndexState& state : indexes_) {
    std::vector<Text> old_values = values_of(state, *before);
    std::vector<Text> new_values = values_of(state, *object);
    if (old_values == new_values) continue;
    for (const Text& value : old_values) leave(state, value, *slot);
    for (const Text& value : new_values) enter(state, value, *slot);
  }
  if (before->meta.uid == object->meta.uid) {
    changes.push_back(Change{std::move(before), std::move(object)});
  } else {
    changes.push_back(Change{std::move(before), nullptr});
    changes.push_back(Change{nullptr, std::move(object)});
  }
}

template <typename T>
typename Cache<T>::Slots::iterator Cache<T>::take(typename Slots::iterator at,
                                                  std::vector<Change>& changes) {
  for (IndexState& state : indexes_) {
    for (const Text& value : values_of(state, *at->object)) leave(state, value, *at);
  }
  by_hash_.erase(hash_of(at->key().ns, at->key().name), &*at);
  changes.push_back(Change{at->object, nullptr});
  return slots_.erase(at);
}

template <typename T>
void Cache<T>::take(const Slot& slot, std::vector<Change>& changes) {
  take(slots_.find(slot.key()), changes);
}

template <typename T>
void Cache<T>::raise_version(std::string_view version) {
  if (version.empty()) return;
  // What cannot be compared comes from the stream, and the stream only goes forward.
  if (compare_versions(version, version_) != VersionOrder::older) version_ = Text(version);
}

template <typename T>
void Cache<T>::report(const std::vector<Change>& changes, const std::vector<ObjectKey>& settled) {
  for (const Change& change : changes) {
    for (const Listener& listener : listeners_) listener(change);
  }
  for (const ObjectKey& key : settled) {
    for (const SettledListener& listener : settled_listeners_) listener(key);
  }
}

template <typename T>
bool Cache<T>::apply(WatchEventType type, Object object) {
  if (type == WatchEventType::deleted) {
    return remove(object->meta.key(), object->meta.resource_version);
  }
  if (type != WatchEventType::added && type != WatchEventType::modified) return false;
  // Older than what is held; or, of an object that is gone, older than what was seen since.
  const Slot* slot = slot_of(object->meta);
  bool held = slot != nullptr;
  VersionOrder order = compare_versions(object->meta.resource_version,
                                        held ? slot->object->meta.resource_version : version_);
  if (order == VersionOrder::older || (!held && order == VersionOrder::same)) return false;
  std::vector<Change> changes;
  std::vector<ObjectKey> settled;
  put(object, changes);
  if (!unreadable_.empty()) unreadable_.erase(object->meta.key());
  raise_version(object->meta.resource_version);
  if (!expectations_.empty()) {
    expectations_.saw(object->meta, settled);
    expectations_.saw_version(version_, settled);
  }
  bool changed = !changes.empty();
  report(changes, settled);
  return changed;
}

template <typename T>
bool Cache<T>::remove(const ObjectKey& key, std::string_view version) {
  std::vector<Change> changes;
  std::vector<ObjectKey> settled;
  if (const Slot* slot = slot_of(key)) {
    // An old deletion, of an object that has been made again since.
    if (compare_versions(version, slot->object->meta.resource_version) == VersionOrder::older)
      return false;
    take(*slot, changes);
  }
  unreadable_.erase(key);
  raise_version(version);
  if (!expectations_.empty()) {
    expectations_.saw_deleted(key, version, settled);
    expectations_.saw_version(version_, settled);
  }
  bool changed = !changes.empty();
  report(changes, settled);
  return changed;
}

template <typename T>
void Cache<T>::apply_unreadable(const ObjectKey& key, Error error, std::string_view version) {
  unreadable_.insert_or_assign(key, std::move(error));
  advance(version);
}

template <typename T>
void Cache<T>::advance(std::string_view version) {
  raise_version(version);
  std::vector<ObjectKey> settled;
  if (!expectations_.empty()) expectations_.saw_version(version_, settled);
  report({}, settled);
}

template <typename T>
bool Cache<T>::replace(std::vector<Object> objects, std::string_view version,
                       std::map<ObjectKey, Error> unreadable) {
  if (compare_versions(version, version_) == VersionOrder::older) return false;
  std::vector<Change> changes;
  std::vector<ObjectKey> settled;

  auto before = [](const Object& a, const Object& b) {
    return KeyView(a->meta) < KeyView(b->meta);
  };
  if (!std::is_sorted(objects.begin(), objects.end(), before)) {
    std::sort(objects.begin(), objects.end(), before);
  }
  // Both sides in order: one walk finds what is gone.
  auto item = objects.begin();
  for (auto at = slots_.begin(); at != slots_.end();) {
    while (item != objects.end() && KeyView((*item)->meta) < at->key()) ++item;
    bool listed = item != objects.end() && KeyView((*item)->meta) == at->key();
    if (listed || (!unreadable.empty() && unreadable.contains(at->key().key()))) {
      ++at;
      continue;
    }
    if (!expectations_.empty()) expectations_.saw_deleted(at->key().key(), version, settled);
    at = take(at, changes);
  }
  for (Object& object : objects) {
    if (!expectations_.empty()) expectations_.saw(object->meta, settled);
    put(std::move(object), changes);
  }
  unreadable_ = std::move(unreadable);
  version_ = Text(version);
  synced_ = true;
  expectations_.saw_version(version_, settled);
  expectations_.saw_list(settled);
  report(changes, settled);
  return true;
}

template <typename T>
void Cache<T>::reset() {
  version_ = Text();
  std::vector<ObjectKey> settled;
  expectations_.clear(settled);
  report({}, settled);
}

template <typename T>
void CacheFeed<T>::begin_replace() {
  objects_.clear();
  unreadable_.clear();
}

template <typename T>
Result<ListPage> CacheFeed<T>::page(const Body& body) {
  return decode_list_shared<T>(
      body, context_,
      [this](std::shared_ptr<const T> object) { objects_.push_back(std::move(object)); },
      [this](BadItem bad) { unreadable_.insert_or_assign(bad.key, std::move(bad.error)); });
}

template <typename T>
void CacheFeed<T>::item(const Body& object) {
  auto decoded = decode_shared<T>(object, context_);
  if (decoded) {
    objects_.push_back(std::move(*decoded));
  } else {
    unreadable_.insert_or_assign(peek_body_key(object), std::move(decoded).error());
  }
}

template <typename T>
bool CacheFeed<T>::end_replace(const std::string& version, bool history_restarted) {
  if (history_restarted) cache_.reset();
  auto objects = std::exchange(objects_, {});
  return cache_.replace(std::move(objects), version, std::exchange(unreadable_, {}));
}

template <typename T>
std::string CacheFeed<T>::event(WatchEventType type, const Body& object) {
  if (type == WatchEventType::bookmark) {
    std::string version = peek_body_version(object);
    cache_.advance(version);
    return version;
  }
  auto decoded = decode_shared<T>(object, context_);
  if (decoded) {
    std::string version = (*decoded)->meta.resource_version.str();
    cache_.apply(type, std::move(*decoded));
    return version;
  }
  std::string version = peek_body_version(object);
  ObjectKey key = peek_body_key(object);
  if (type == WatchEventType::deleted) {
    cache_.remove(key, version);
  } else {
    cache_.apply_unreadable(key, std::move(decoded).error(), version);
  }
  return version;
}

template <typename T>
CachedResource<T>::CachedResource(Api& api, Loop& loop, Random& random, Log& log,
                                  DecodeContext& context, ReflectorOptions options,
                                  std::vector<typename Cache<T>::Index> indexes)
    : cache(std::move(indexes)),
      feed_(cache, context),
      reflector(api, loop, random, log, with_type(std::move(options)), feed_) {}

template <typename T>
CachedResource<T>::~CachedResource() = default;

template <typename T>
ReflectorOptions CachedResource<T>::with_type(ReflectorOptions options) {
  if (options.type.plural.empty()) options.type = Kind<T>::type();
  return options;
}

}  // namespace lockstep::kube

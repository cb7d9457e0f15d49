// The longer functions of Cache<T>; included by cache.h alone.
#pragma once

#include <algorithm>

#include "kube/cache.h"

namespace lockstep::kube {

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

}  // namespace lockstep::kube

// The watch cache of one type of object: what the cluster shows, as far as it has arrived, with
// indexes (pods by node, by owner), a report of every change, and the means to read our own writes.
//
// It is fed by one list and one watch of that type and by nothing else; events of one type come in
// the order of their versions, so having seen a version means having seen all before it.
//
// The longer functions are in cache_impl.h. cache_instances.cc compiles them once for each type
// that has a cache, so that the files that use a cache need not.
#pragma once

#include <compare>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hash_index.h"
#include "base/indexed_map.h"
#include "base/result.h"
#include "base/text.h"
#include "kube/api.h"
#include "kube/cache_bucket.h"
#include "kube/expectations.h"
#include "objects/meta.h"
#include "objects/resource_type.h"

namespace lockstep::kube {

struct KeyView {
  std::string_view ns;
  std::string_view name;

  KeyView(std::string_view ns_, std::string_view name_) : ns(ns_), name(name_) {}
  KeyView(const ObjectKey& key) : ns(key.ns), name(key.name) {}      // NOLINT: a view of it
  KeyView(const ObjectMeta& meta) : ns(meta.ns), name(meta.name) {}  // NOLINT
  ObjectKey key() const { return {std::string(ns), std::string(name)}; }
  auto operator<=>(const KeyView&) const = default;
};

template <typename T>
class Cache {
 public:
  using Object = std::shared_ptr<const T>;

  // Appends the values under which the object is to be found: the name of a pod's node, say.
  using IndexFunction = std::function<void(const T& object, std::vector<Text>& values)>;
  struct Index {
    std::string name;
    IndexFunction values;
  };

  // No `before`: it is new. No `after`: it is gone. An object that was deleted and made again under
  // the same name is two changes.
  struct Change {
    Object before;
    Object after;
    const T& object() const { return after ? *after : *before; }
  };
  // Called once the cache shows the whole event or list. Must not change the cache.
  using Listener = std::function<void(const Change&)>;
  using SettledListener = std::function<void(const ObjectKey&)>;

  explicit Cache(std::vector<Index> indexes = {});
  ~Cache();
  // Buckets point at slots.
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;

  void on_change(Listener listener) { listeners_.push_back(std::move(listener)); }
  // An expectation was settled; perhaps without a change of that object to report.
  void on_settled(SettledListener listener) { settled_listeners_.push_back(std::move(listener)); }

  // Reading.

  // Null if not found.
  Object find(KeyView key) const {
    const Slot* slot = slot_of(key);
    return slot == nullptr ? nullptr : slot->object;
  }
  size_t size() const { return slots_.size(); }
  // True once a list has been taken in.
  bool synced() const { return synced_; }
  // Everything up to here has been seen; empty before the first list.
  const Text& version() const { return version_; }

  // All objects, by namespace and name.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (const Slot& slot : slots_) visit(slot.object);
  }
  // Those under one value of an index, by namespace and name.
  template <typename Visit>
  void for_each(std::string_view index, std::string_view value, Visit visit) const {
    if (const Bucket* bucket = bucket_of(index, value)) {
      bucket->for_each([&](const Slot& slot) { visit(slot.object); });
    }
  }
  std::vector<Object> find_all(std::string_view index, std::string_view value) const;
  size_t count(std::string_view index, std::string_view value) const {
    const Bucket* bucket = bucket_of(index, value);
    return bucket == nullptr ? 0 : bucket->size();
  }
  // Every value of an index that has an object, in order.
  template <typename Visit>
  void for_each_value(std::string_view index, Visit visit) const {
    if (const IndexState* state = index_of(index)) {
      for (const auto& [value, bucket] : state->buckets) visit(value);
    }
  }

  // Objects that the cluster has and that we could not read: what is held of them, if anything, is
  // from before.
  const std::map<ObjectKey, Error>& unreadable() const { return unreadable_; }

  // Feeding.

  // False: the event was older than what is held, and changed nothing.
  bool apply(WatchEventType type, Object object);
  // A deletion of which only the key is known.
  bool remove(const ObjectKey& key, std::string_view version = {});
  // An event about an object that could not be decoded.
  void apply_unreadable(const ObjectKey& key, Error error, std::string_view version = {});
  // A bookmark.
  void advance(std::string_view version);

  // A whole list in place of what is held, and the version it was read at. What could not be
  // decoded is kept as it was. False: the list is older than what was seen already (a server that
  // lags) and nothing is changed; ask again, and when that persists, reset() first.
  bool replace(std::vector<Object> objects, std::string_view version,
               std::map<ObjectKey, Error> unreadable = {});
  // Forgets versions and expectations, not objects: the cluster's history may have restarted (a
  // restored backup), and the next list is taken whatever its version.
  void reset();

  // Reading our own writes.

  void expect(const ObjectKey& key, std::string_view version);
  void expect_deleted(const ObjectKey& key, std::string_view uid);
  // False while a write of ours to this object is not shown yet.
  bool is_current(const ObjectKey& key) const { return !expectations_.has(key); }
  const Expectations& expectations() const { return expectations_; }

 private:
  // Stable in memory; the object in it changes, its key does not.
  struct Slot {
    mutable Object object;
    KeyView key() const { return KeyView(object->meta); }
  };
  struct ByKey {
    using is_transparent = void;
    bool operator()(const Slot& a, const Slot& b) const { return a.key() < b.key(); }
    bool operator()(const Slot& a, const KeyView& b) const { return a.key() < b; }
    bool operator()(const KeyView& a, const Slot& b) const { return a < b.key(); }
  };
  using Slots = std::set<Slot, ByKey>;
  using Bucket = CacheBucket<Slot>;
  struct IndexState {
    Index index;
    IndexedMap<Text, Bucket> buckets;
  };

  static bool is_at_least(std::string_view seen, std::string_view wanted);
  static bool is_same(const T& a, const T& b);

  const Slot* slot_of(const KeyView& key) const {
    return by_hash_.find(hash_of(key.ns, key.name),
                         [&](const Slot& slot) { return slot.key() == key; });
  }
  const IndexState* index_of(std::string_view name) const {
    for (const IndexState& state : indexes_) {
      if (state.index.name == name) return &state;
    }
    return nullptr;
  }
  const Bucket* bucket_of(std::string_view name, std::string_view value) const {
    const IndexState* state = index_of(name);
    if (state == nullptr) return nullptr;
    return state->buckets.find(value);
  }
  std::vector<Text> values_of(const IndexState& state, const T& object) const;
  void enter(IndexState& state, const Text& value, const Slot& slot);
  void leave(IndexState& state, const Text& value, const Slot& slot);

  void put(Object object, std::vector<Change>& changes);
  typename Slots::iterator take(typename Slots::iterator at, std::vector<Change>& changes);
  void take(const Slot& slot, std::vector<Change>& changes);
  void raise_version(std::string_view version);
  void report(const std::vector<Change>& changes, const std::vector<ObjectKey>& settled);

  Slots slots_;
  HashIndex<const Slot> by_hash_;
  std::vector<IndexState> indexes_;
  Text version_;
  bool synced_ = false;
  std::map<ObjectKey, Error> unreadable_;
  Expectations expectations_;
  std::vector<Listener> listeners_;
  std::vector<SettledListener> settled_listeners_;
};

}  // namespace lockstep::kube

// The truth of the embedded API: objects, and a log of every change in the order of its version.
// A watcher is a position in that log. In memory, single-threaded, and the same behind every door.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/indexed_map.h"
#include "data/json.h"
#include "kube/api.h"
#include "objects/resource_type.h"

namespace lockstep::apiserver {

// One object at one version; never changed once made.
class Stored {
 public:
  Stored(ObjectKey key, uint64_t version, Json object);

  const ObjectKey& key() const { return key_; }
  uint64_t version() const { return version_; }
  const Json& json() const { return *document_; }
  const Document& document() const { return document_; }
  // The object as JSON text, printed on first need and kept.
  const std::string& bytes() const;

 private:
  ObjectKey key_;
  uint64_t version_;
  Document document_;
  mutable std::string bytes_;
};
using StoredPtr = std::shared_ptr<const Stored>;

struct Change {
  uint64_t version = 0;
  kube::WatchEventType type = kube::WatchEventType::added;
  StoredPtr object;  // after; of a deletion: the last state, with the deletion's version
  StoredPtr before;  // null when it was created
};

// The writer of a change, for listeners. Empty: the server itself, in a background controller.
struct Origin {
  std::string_view who;  // the caller's user
  std::string_view verb;
  std::string_view subresource;
};

// The objects of one storage and their log.
class Shelf {
 public:
  using Objects = std::map<ObjectKey, StoredPtr>;

  const Objects& objects() const { return objects_.in_order(); }
  StoredPtr find(const ObjectKey& key) const;
  // The objects of one namespace, or all when it is empty: a half-open range.
  std::pair<Objects::const_iterator, Objects::const_iterator> range(const std::string& ns) const;

  // Those whose spec.nodeName this is, by key: of a large fleet's pods, the few of one node.
  std::vector<StoredPtr> on_node(std::string_view node) const;

  // The log as numbered positions: [first_position, end_position).
  uint64_t first_position() const { return first_position_; }
  uint64_t end_position() const { return first_position_ + log_.size(); }
  const Change& at(uint64_t position) const { return log_[position - first_position_]; }
  // The position after the last change that `version` includes; nothing when the log no longer
  // reaches back that far.
  std::optional<uint64_t> position_after(uint64_t version) const;
  // What the objects were at an earlier version: for keys changed since, their state then (null:
  // did not exist). Nothing when the log does not reach back.
  std::optional<std::map<ObjectKey, StoredPtr>> changed_since(uint64_t version) const;

 private:
  friend class Store;
  void forget_oldest();
  // Of a key in objects_: on which node it was and is, empty for none.
  void move(const ObjectKey& key, std::string_view from, std::string_view to);

  IndexedMap<ObjectKey, StoredPtr> objects_;
  std::map<std::string, std::vector<const ObjectKey*>, std::less<>> by_node_;
  std::deque<Change> log_;
  uint64_t first_position_ = 0;
  uint64_t compacted_version_ = 0;  // changes up to this version are gone from the log
};

class Store {
 public:
  // A reference to an object wherever it is stored.
  struct Place {
    std::string storage;
    ObjectKey key;
    auto operator<=>(const Place&) const = default;
  };

  // `log_limit`: changes kept per storage.
  explicit Store(size_t log_limit = 100'000) : log_limit_(log_limit) {}

  uint64_t version() const { return version_; }
  const Shelf& shelf(std::string_view storage) const;
  // Of everything that was ever stored, sorted.
  std::vector<std::string> storages() const;

  // Writes an object under a new version and stamps it with it.
  StoredPtr put(std::string_view storage, const ObjectKey& key, Json object);
  // Removes it; the log gets its last state under a new version.
  StoredPtr remove(std::string_view storage, const ObjectKey& key);
  // Forgets all changes up to now, as etcd's compaction does: older positions are gone.
  void compact();
  // Forgets the changes up to a version, in logs of more than `least` changes.
  void forget_changes(uint64_t up_to_version, size_t least);

  // By metadata.uid, and by the uid of an owner.
  std::optional<Place> find_uid(std::string_view uid) const;
  std::vector<Place> dependents(std::string_view owner_uid) const;

  // Called after every change, in order of registration. Returns an id for remove_listener.
  using Listener = std::function<void(const std::string& storage, const Change& change)>;
  uint64_t add_listener(Listener listener);
  void remove_listener(uint64_t id);

  // Of the change that the listeners receive.
  const Origin& origin() const { return origin_; }
  // For as long as it lives, changes are this caller's; what it names must live as long.
  class OnBehalfOf {
   public:
    OnBehalfOf(Store& store, Origin origin)
        : store_(store), before_(std::exchange(store.origin_, origin)) {}
    ~OnBehalfOf() { store_.origin_ = before_; }
    OnBehalfOf(const OnBehalfOf&) = delete;
    OnBehalfOf& operator=(const OnBehalfOf&) = delete;

   private:
    Store& store_;
    Origin before_;
  };

 private:
  struct TextHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return hash_of(text); }
  };
  using Shelves = std::unordered_map<std::string, Shelf, TextHash, std::equal_to<>>;
  Shelves::value_type& shelf_to_write(std::string_view storage);
  void record(const std::string& storage, Shelf& shelf, Change change);
  void index(const std::string& storage, const ObjectKey& key, const Json* before,
             const Json* after);

  size_t log_limit_;
  uint64_t version_ = 1;
  Shelves shelves_;
  std::unordered_map<std::string, Place, TextHash, std::equal_to<>> by_uid_;
  std::map<std::string, std::set<Place>, std::less<>> by_owner_;
  std::map<uint64_t, std::shared_ptr<const Listener>> listeners_;
  uint64_t next_listener_ = 1;
  Origin origin_;
};

}  // namespace lockstep::apiserver

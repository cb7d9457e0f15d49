#include "apiserver/store/store.h"

#include <algorithm>
#include <utility>

namespace lockstep::apiserver {

namespace {

void stamp(Json& object, uint64_t version) {
  ensure_object(object.as_object(), "metadata")["resourceVersion"] = std::to_string(version);
}

const Json* owners_of(const Json* object) {
  const Json* owners = object == nullptr ? nullptr : find(*object, "metadata", "ownerReferences");
  return owners == nullptr || !owners->is_array() ? nullptr : owners;
}

// As nearly every write leaves them: two versions share the list.
bool have_same_owners(const Json* before, const Json* after) {
  const Json* old = owners_of(before);
  const Json* now = owners_of(after);
  if (old == nullptr || now == nullptr) return old == now;
  return old->get_array().is_same(now->get_array());
}

std::vector<std::string_view> owner_uids(const Json* object) {
  std::vector<std::string_view> uids;
  const Json* owners = owners_of(object);
  if (owners == nullptr) return uids;
  for (const Json& owner : owners->get_array()) {
    if (auto uid = text_at(owner, "uid"); !uid.empty()) uids.push_back(uid);
  }
  return uids;
}

std::string_view node_of(const StoredPtr& stored) {
  return stored ? text_at(stored->json(), "spec", "nodeName") : std::string_view();
}

const Shelf empty_shelf;

}  // namespace

Stored::Stored(ObjectKey key, uint64_t version, Json object)
    : key_(std::move(key)),
      version_(version),
      document_(std::make_shared<const Json>(std::move(object))) {}

const std::string& Stored::bytes() const {
  if (bytes_.empty()) bytes_ = print_json(*document_);
  return bytes_;
}

StoredPtr Shelf::find(const ObjectKey& key) const {
  const StoredPtr* found = objects_.find(key);
  return found == nullptr ? nullptr : *found;
}

std::pair<Shelf::Objects::const_iterator, Shelf::Objects::const_iterator> Shelf::range(
    const std::string& ns) const {
  if (ns.empty()) return {objects().begin(), objects().end()};
  auto first = objects().lower_bound(ObjectKey{ns, ""});
  // The smallest namespace name that sorts after `ns`.
  auto last = objects().lower_bound(ObjectKey{ns + '\0', ""});
  return {first, last};
}

std::optional<uint64_t> Shelf::position_after(uint64_t version) const {
  if (version < compacted_version_) return std::nullopt;
  auto found = std::upper_bound(
      log_.begin(), log_.end(), version,
      [](uint64_t wanted, const Change& change) { return wanted < change.version; });
  return first_position_ + static_cast<uint64_t>(found - log_.begin());
}

std::optional<std::map<ObjectKey, StoredPtr>> Shelf::changed_since(uint64_t version) const {
  auto position = position_after(version);
  if (!position) return std::nullopt;
  std::map<ObjectKey, StoredPtr> then;
  for (uint64_t at_position = *position; at_position < end_position(); ++at_position) {
    const Change& change = at(at_position);
    then.emplace(change.object->key(),
                 change.before);  // only the first change has the state of that time
  }
  return then;
}

const Shelf& Store::shelf(std::string_view storage) const {
  auto found = shelves_.find(storage);
  return found == shelves_.end() ? empty_shelf : found->second;
}

std::vector<std::string> Store::storages() const {
  std::vector<std::string> names;
  for (const auto& [name, shelf] : shelves_) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

Store::Shelves::value_type& Store::shelf_to_write(std::string_view storage) {
  auto found = shelves_.find(storage);
  if (found == shelves_.end()) found = shelves_.emplace(std::string(storage), Shelf{}).first;
  return *found;
}

StoredPtr Store::put(std::string_view storage, const ObjectKey& key, Json object) {
  auto& [name, shelf] = shelf_to_write(storage);
  stamp(object, ++version_);
  auto stored = std::make_shared<const Stored>(key, version_, std::move(object));
  StoredPtr before = std::exchange(shelf.objects_[key], stored);
  if (node_of(before) != node_of(stored)) {
    shelf.move(*shelf.objects_.key_of(key), node_of(before), node_of(stored));
  }
  index(name, key, before ? &before->json() : nullptr, &stored->json());
  auto type = before ? kube::WatchEventType::modified : kube::WatchEventType::added;
  record(name, shelf, Change{version_, type, stored, std::move(before)});
  return stored;
}

StoredPtr Store::remove(std::string_view storage, const ObjectKey& key) {
  auto& [name, shelf] = shelf_to_write(storage);
  StoredPtr before = shelf.find(key);
  if (!before) return nullptr;
  shelf.move(*shelf.objects_.key_of(key), node_of(before), {});
  shelf.objects_.erase(key);
  Json last = before->json();
  stamp(last, ++version_);
  auto stored = std::make_shared<const Stored>(key, version_, std::move(last));
  index(name, key, &before->json(), nullptr);
  record(name, shelf, Change{version_, kube::WatchEventType::deleted, stored, std::move(before)});
  return stored;
}

void Store::record(const std::string& storage, Shelf& shelf, Change change) {
  shelf.log_.push_back(std::move(change));
  while (shelf.log_.size() > log_limit_) shelf.forget_oldest();
  // A listener may write in turn, or go: hold the change, and walk by id.
  Change held = shelf.log_.back();
  for (auto at = listeners_.begin(); at != listeners_.end();) {
    uint64_t id = at->first;
    std::shared_ptr<const Listener> listener = at->second;
    (*listener)(storage, held);
    at = listeners_.upper_bound(id);
  }
}

void Store::compact() {
  for (auto& [name, shelf] : shelves_) {
    shelf.first_position_ += shelf.log_.size();
    shelf.log_.clear();
    shelf.compacted_version_ = version_;
  }
}

void Store::forget_changes(uint64_t up_to_version, size_t least) {
  for (auto& [name, shelf] : shelves_) {
    while (shelf.log_.size() > least && shelf.log_.front().version <= up_to_version)
      shelf.forget_oldest();
  }
}

void Shelf::forget_oldest() {
  compacted_version_ = log_.front().version;
  log_.pop_front();
  ++first_position_;
}

void Shelf::move(const ObjectKey& key, std::string_view from, std::string_view to) {
  if (from == to) return;
  if (auto found = by_node_.find(from); found != by_node_.end()) {
    std::erase(found->second, &key);
    if (found->second.empty()) by_node_.erase(found);
  }
  if (!to.empty()) by_node_[std::string(to)].push_back(&key);
}

std::vector<StoredPtr> Shelf::on_node(std::string_view node) const {
  std::vector<StoredPtr> found;
  if (auto at = by_node_.find(node); at != by_node_.end()) {
    for (const ObjectKey* key : at->second) found.push_back(objects_.at(*key));
  }
  std::sort(found.begin(), found.end(),
            [](const StoredPtr& a, const StoredPtr& b) { return a->key() < b->key(); });
  return found;
}

void Store::index(const std::string& storage, const ObjectKey& key, const Json* before,
                  const Json* after) {
  auto uid_before = before == nullptr ? std::string_view() : text_at(*before, "metadata", "uid");
  auto uid_after = after == nullptr ? std::string_view() : text_at(*after, "metadata", "uid");
  if (uid_before != uid_after) {
    if (auto at = by_uid_.find(uid_before); at != by_uid_.end()) by_uid_.erase(at);
    if (!uid_after.empty()) by_uid_[std::string(uid_after)] = Place{storage, key};
  }
  if (have_same_owners(before, after)) return;
  auto owners_before = owner_uids(before);
  auto owners_after = owner_uids(after);
  if (owners_before == owners_after) return;
  const Place place{storage, key};
  for (auto uid : owners_before) {
    auto found = by_owner_.find(uid);
    if (found == by_owner_.end()) continue;
    found->second.erase(place);
    if (found->second.empty()) by_owner_.erase(found);
  }
  for (auto uid : owners_after) by_owner_[std::string(uid)].insert(place);
}

std::optional<Store::Place> Store::find_uid(std::string_view uid) const {
  auto found = by_uid_.find(uid);
  if (found == by_uid_.end()) return std::nullopt;
  return found->second;
}

std::vector<Store::Place> Store::dependents(std::string_view owner_uid) const {
  auto found = by_owner_.find(owner_uid);
  if (found == by_owner_.end()) return {};
  return {found->second.begin(), found->second.end()};
}

uint64_t Store::add_listener(Listener listener) {
  listeners_.emplace(next_listener_, std::make_shared<const Listener>(std::move(listener)));
  return next_listener_++;
}

void Store::remove_listener(uint64_t id) { listeners_.erase(id); }

}  // namespace lockstep::apiserver

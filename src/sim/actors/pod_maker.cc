#include "sim/actors/pod_maker.h"

#include <utility>

#include <fmt/format.h>

namespace lockstep::sim {

PodMaker::PodMaker(Parts parts, View& view, std::function<void(const std::string& uid)> changed)
    : parts_(parts), view_(view), changed_(std::move(changed)), writer_(parts) {
  view_.pods().for_each([this](const Object& pod) { count_again(*pod); });
  view_.pods().on_change(scope_.bind([this](const ObjectCache::Change& change) { take(change); }));
  view_.pods().on_settled(scope_.bind([this](const ObjectKey& key) {
    auto at = expected_.find(key);
    if (at == expected_.end()) return;
    std::string uid = std::move(at->second);
    expected_.erase(at);
    forget(uid, key);
  }));
}

void PodMaker::take(const ObjectCache::Change& change) {
  const ObjectMeta& meta = change.object().meta;
  std::string uid = meta.uid.str();
  if (!change.after || meta.is_deleting()) doomed_.erase(uid);
  if (change.after) {
    count_again(*change.after);
  } else {
    count_as(uid, "", Part::none);
  }
  const OwnerReference* owner = meta.controller();
  if (owner == nullptr) return;
  std::string owner_uid = owner->uid.str();
  if (auto at = unseen_.find(owner_uid); at != unseen_.end()) {
    at->second.erase(meta.key());
    if (at->second.empty()) unseen_.erase(at);
  }
  changed_(owner_uid);
}

PodMaker::Part PodMaker::part_of(const GenericObject& pod) const {
  switch (phase_of(pod)) {
    case PodPhase::succeeded:
      return Part::succeeded;
    case PodPhase::failed:
      return Part::failed;
    default:
      if (pod.meta.is_deleting() || doomed_.contains(pod.meta.uid.str())) return Part::none;
      return is_ready(pod) ? Part::ready : Part::live;
  }
}

void PodMaker::count_again(const GenericObject& pod) {
  const OwnerReference* owner = pod.meta.controller();
  count_as(pod.meta.uid.str(), owner == nullptr ? "" : owner->uid.str(),
           owner == nullptr ? Part::none : part_of(pod));
}

void PodMaker::count_as(const std::string& uid, const std::string& owner, Part part) {
  auto at = counted_.find(uid);
  if (at == counted_.end() && part == Part::none) return;
  if (at != counted_.end() && at->second.part == part && at->second.owner == owner) return;
  auto add = [this, &uid](const Counted& counted, int64_t sign) {
    Owned& owned = owned_[counted.owner];
    if (counted.part == Part::live || counted.part == Part::ready) owned.counts.live += sign;
    if (counted.part == Part::ready) owned.counts.ready += sign;
    if (counted.part == Part::failed) owned.counts.failed += sign;
    if (counted.part != Part::succeeded) return;
    if (sign > 0) {
      owned.succeeded.insert(uid);
    } else {
      owned.succeeded.erase(uid);
    }
  };
  if (at != counted_.end()) {
    add(at->second, -1);
    counted_.erase(at);
  }
  if (part == Part::none) return;
  Counted counted{owner, part};
  add(counted, 1);
  counted_.emplace(uid, std::move(counted));
}

PodMaker::Counts PodMaker::count(const std::string& owner_uid) const {
  auto at = owned_.find(owner_uid);
  Counts counts = at == owned_.end() ? Counts() : at->second.counts;
  if (auto unseen = unseen_.find(owner_uid); unseen != unseen_.end()) {
    counts.unseen = static_cast<int64_t>(unseen->second.size());
  }
  return counts;
}

std::vector<Object> PodMaker::live_pods(const std::string& owner_uid) const {
  std::vector<Object> live;
  view_.pods().for_each("owner", owner_uid, [&](const Object& pod) {
    Part part = part_of(*pod);
    if (part == Part::live || part == Part::ready) live.push_back(pod);
  });
  return live;
}

std::set<std::string> PodMaker::take_succeeded(const std::string& owner_uid) {
  auto at = owned_.find(owner_uid);
  return at == owned_.end() ? std::set<std::string>() : std::exchange(at->second.succeeded, {});
}

void PodMaker::create(const ResourceType& type, const GenericObject& owner,
                      const Json& pod_template, const JsonObject& labels,
                      std::string_view restart_policy) {
  Json pod = pod_template;
  JsonObject& fields = pod.as_object();
  fields["apiVersion"] = "v1";
  fields["kind"] = "Pod";
  ObjectKey key{owner.meta.ns.str(),
                fmt::format("{}-{}", owner.meta.name.view(), parts_.random.suffix(5))};
  JsonObject& metadata = ensure_object(fields, "metadata");
  metadata.erase("creationTimestamp");
  metadata["name"] = key.name;
  metadata["ownerReferences"] = owned_by(type, owner);
  JsonObject& pod_labels = ensure_object(metadata, "labels");
  for (const auto& [name, value] : labels) pod_labels[name] = value;
  JsonObject& spec = ensure_object(fields, "spec");
  if (!spec.contains("restartPolicy")) spec["restartPolicy"] = restart_policy;

  std::string uid = owner.meta.uid.str();
  unseen_[uid].insert(key);
  writer_.send(kube::create(resource::pods, key.ns, std::move(pod)),
               scope_.bind([this, uid, key](const Result<Document>& created) {
                 if (created) {
                   // Until the cache has come as far as this, the pod counts as there.
                   view_.pods().expect(key, text_at(**created, "metadata", "resourceVersion"));
                   if (view_.pods().is_current(key)) return forget(uid, key);
                   expected_[key] = uid;
                   return;
                 }
                 bool made = created.error().kind == ErrorKind::exists;
                 if (!made) {
                   parts_.log.warning("cannot create a pod",
                                      {{"pod", key.text()}, {"error", created.error().text()}});
                 }
                 // Made by a request whose answer was lost: no version to wait for.
                 parts_.loop.after(made ? minutes(5) : seconds(5),
                                   scope_.bind([this, uid, key] { forget(uid, key); }));
               }));
}

void PodMaker::forget(const std::string& owner_uid, const ObjectKey& pod) {
  auto at = unseen_.find(owner_uid);
  if (at == unseen_.end() || at->second.erase(pod) == 0) return;
  if (at->second.empty()) unseen_.erase(at);
  changed_(owner_uid);
}

void PodMaker::remove(const GenericObject& pod) {
  std::string uid = pod.meta.uid.str();
  if (!doomed_.insert(uid).second) return;
  count_again(pod);
  writer_.send(remove_exactly(resource::pods, pod.meta.key(), uid),
               scope_.bind([this, uid, key = pod.meta.key()](const Result<Document>& removed) {
                 if (removed) return;
                 doomed_.erase(uid);
                 Object shown = view_.pods().find(key);
                 if (shown && shown->meta.uid == uid) count_again(*shown);
               }));
}

}  // namespace lockstep::sim

#include "sim/pod_maker.h"

#include <utility>

#include <fmt/format.h>

namespace lockstep::sim {

PodMaker::PodMaker(Parts parts, View& view, std::function<void(const std::string& uid)> changed)
    : parts_(parts), view_(view), changed_(std::move(changed)), writer_(parts) {
  view_.pods().on_change(scope_.bind([this](const ObjectCache::Change& change) {
    const ObjectMeta& meta = change.object().meta;
    if (!change.after || meta.is_deleting()) doomed_.erase(meta.uid.str());
    const OwnerReference* owner = meta.controller();
    if (owner == nullptr) return;
    std::string uid = owner->uid.str();
    if (auto at = unseen_.find(uid); at != unseen_.end()) {
      at->second.erase(meta.key());
      if (at->second.empty()) unseen_.erase(at);
    }
    changed_(uid);
  }));
  view_.pods().on_settled(scope_.bind([this](const ObjectKey& key) {
    auto at = expected_.find(key);
    if (at == expected_.end()) return;
    std::string uid = std::move(at->second);
    expected_.erase(at);
    forget(uid, key);
  }));
}

PodMaker::Pods PodMaker::pods_of(const std::string& owner_uid) const {
  Pods pods;
  view_.pods().for_each("owner", owner_uid, [&](const Object& pod) {
    switch (phase_of(*pod)) {
      case PodPhase::succeeded:
        pods.succeeded.push_back(pod);
        break;
      case PodPhase::failed:
        pods.failed.push_back(pod);
        break;
      default:
        if (!pod->meta.is_deleting() && !doomed_.contains(pod->meta.uid.str()))
          pods.live.push_back(pod);
    }
  });
  if (auto at = unseen_.find(owner_uid); at != unseen_.end()) pods.unseen = at->second.size();
  return pods;
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
  writer_.send(remove_exactly(resource::pods, pod.meta.key(), uid),
               scope_.bind([this, uid](const Result<Document>& removed) {
                 if (!removed) doomed_.erase(uid);
               }));
}

}  // namespace lockstep::sim

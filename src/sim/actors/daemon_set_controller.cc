#include "sim/actors/daemon_set_controller.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "objects/int_or_percent.h"
#include "sim/actors/object_facts.h"
#include "sim/actors/template_hash.h"

namespace lockstep::sim {

namespace {

constexpr std::string_view hash_label = "controller-revision-hash";

bool has_same_taints(const GenericObject& a, const GenericObject& b) {
  const Json* one = find(*a.document, "spec", "taints");
  const Json* other = find(*b.document, "spec", "taints");
  return one == nullptr || other == nullptr ? one == other : *one == *other;
}

// As Kubernetes: the taints of a node's condition and of a cordon are tolerated by every DaemonSet.
bool tolerates_all(const Json& pod_spec, const GenericObject& node) {
  const Json* taints = find(*node.document, "spec", "taints");
  if (taints == nullptr || !taints->is_array()) return true;
  const auto& all = taints->get_array();
  return std::all_of(all.begin(), all.end(), [&](const Json& taint) {
    std::string_view key = text_at(taint, "key");
    return key.starts_with("node.kubernetes.io/") ||
           tolerates(
               pod_spec,
               {Text(key), Text(text_at(taint, "value")), Text(text_at(taint, "effect")), {}});
  });
}

const Json& template_of(const GenericObject& daemon_set) {
  return daemon_set.document->at("spec").at("template");
}

}  // namespace

DaemonSetController::DaemonSetController(Parts parts, View& view, DaemonSetOptions options)
    : parts_(parts),
      view_(view),
      options_(options),
      writer_(parts),
      queue_(parts.loop, parts.random, {}, [this](const std::string& key) {
        sync(key);
        queue_.done(key);
      }) {
  using Change = ObjectCache::Change;
  view_.of(resource::daemon_sets).on_change(scope_.bind([this](const Change& change) {
    on_daemon_set(change);
  }));
  view_.of(resource::controller_revisions).on_change(scope_.bind([this](const Change& change) {
    const OwnerReference* owner = change.object().meta.controller();
    if (owner == nullptr) return;
    auto at = key_by_uid_.find(owner->uid.str());
    if (at != key_by_uid_.end()) look_soon(at->second);
  }));
  view_.pods().on_change(scope_.bind([this](const Change& change) { on_pod(change); }));
  view_.pods().on_settled(scope_.bind([this](const ObjectKey& key) {
    auto at = unseen_.find(key);
    if (at == unseen_.end()) return;
    auto [set_key, node] = std::move(at->second);
    unseen_.erase(at);
    forget_made(set_key, node, key);
  }));
  view_.nodes().on_change(scope_.bind([this](const Change& change) { on_node(change); }));
}

void DaemonSetController::look_soon(const std::string& key) {
  queue_.add_after(key, options_.reaction);
}

void DaemonSetController::on_daemon_set(const ObjectCache::Change& change) {
  std::string key = change.object().meta.key().text();
  if (!change.after) {
    key_by_uid_.erase(change.before->meta.uid.str());
    states_.erase(key);
    return;
  }
  State& state = states_[key];
  bool changed = !change.before || change.before->meta.generation != change.after->meta.generation;
  if (changed) state.all_dirty = true;
  state.uid = change.after->meta.uid.str();
  key_by_uid_[state.uid] = key;
  // Its status alone is our own writing.
  if (changed) look_soon(key);
}

void DaemonSetController::on_pod(const ObjectCache::Change& change) {
  const GenericObject& pod = change.object();
  const OwnerReference* owner = pod.meta.controller();
  if (owner == nullptr || owner->kind != "DaemonSet") return;
  auto at = key_by_uid_.find(owner->uid.str());
  if (at == key_by_uid_.end()) return;
  State& state = states_[at->second];
  if (state.tallied && change.before) count(state, *change.before, -1);
  if (state.tallied && change.after) count(state, *change.after, 1);
  std::string node(node_of(pod));
  if (auto made = state.made.find(node); made != state.made.end() && made->second == pod.meta.key())
    state.made.erase(made);
  if (!change.after || change.after->meta.is_deleting()) state.doomed.erase(pod.meta.uid.str());
  state.dirty.insert(node);
  look_soon(at->second);
}

void DaemonSetController::count(State& state, const GenericObject& pod, int64_t sign) {
  if (pod.meta.is_deleting() || is_finished(pod)) return;
  State::Tally& tally = state.tally[std::string(pod.meta.labels.get(hash_label))];
  tally.live += sign;
  if (is_ready(pod)) tally.ready += sign;
}

void DaemonSetController::on_node(const ObjectCache::Change& change) {
  std::string name = change.object().meta.name.str();
  bool matters = !change.before || !change.after ||
                 !(change.before->meta.labels == change.after->meta.labels) ||
                 !has_same_taints(*change.before, *change.after);
  if (!matters) return;
  for (auto& [key, state] : states_) {
    Object daemon_set = view_.of(resource::daemon_sets).find(ObjectKey::parse(key));
    if (!daemon_set) continue;
    bool wanted = change.after && is_eligible(*daemon_set, *change.after);
    if (wanted == state.eligible.contains(name)) continue;
    state.dirty.insert(name);
    look_soon(key);
  }
}

bool DaemonSetController::is_eligible(const GenericObject& daemon_set,
                                      const GenericObject& node) const {
  if (node.meta.is_deleting()) return false;
  const Json& spec = template_of(daemon_set).at("spec");
  return matches_node_selector(node.meta.labels, find(spec, "nodeSelector")) &&
         tolerates_all(spec, node);
}

void DaemonSetController::sync(const std::string& key) {
  bool blind = !view_.of(resource::daemon_sets).synced() || !view_.pods().synced() ||
               !view_.nodes().synced() || !view_.of(resource::controller_revisions).synced();
  if (blind) return queue_.add_after(key, seconds(1));
  Object daemon_set = view_.of(resource::daemon_sets).find(ObjectKey::parse(key));
  if (!daemon_set || daemon_set->meta.is_deleting()) return;
  State& state = states_[key];
  if (!state.tallied) {
    state.tallied = true;
    view_.pods().for_each("owner", state.uid, [&](const Object& pod) { count(state, *pod, 1); });
  }
  if (!sync_revision(*daemon_set, state)) return;
  sync_nodes(*daemon_set, state);
  if (text_at(*daemon_set->document, "spec", "updateStrategy", "type") == "RollingUpdate")
    roll(*daemon_set, state);
  sync_status(*daemon_set, state);
}

bool DaemonSetController::sync_revision(const GenericObject& daemon_set, State& state) {
  if (state.revision_in_flight) return false;
  std::string generation = fmt::format("{}/{}", state.uid, daemon_set.meta.generation);
  if (state.template_text_version != generation) {
    state.hash = template_hash(template_of(daemon_set));
    state.template_text_version = generation;
  }
  int64_t newest = 0;  // of the others
  Object same;
  view_.of(resource::controller_revisions)
      .for_each("owner", state.uid, [&](const Object& revision) {
        if (revision->meta.labels.get(hash_label) == state.hash) {
          same = revision;
        } else {
          newest = std::max(newest, as_integer(find(*revision->document, "revision")));
        }
      });
  // Two revisions have one number if a stale view produced one: that is not the newest yet.
  if (same && as_integer(find(*same->document, "revision")) > newest) return true;

  std::string key = daemon_set.meta.key().text();
  kube::Request request;
  if (same) {
    // A rollback: the old revision becomes the newest.
    request = merge_patch(resource::controller_revisions, same->meta.key(),
                          JsonObject{{"revision", newest + 1}});
  } else {
    Json content = template_of(daemon_set);
    content.as_object()["$patch"] = "replace";
    JsonObject labels;
    for (const auto& [name, value] :
         daemon_set.document->at("spec").at("template").at("metadata").at("labels").as_object())
      labels[name] = value;
    labels[hash_label] = state.hash;
    request = kube::create(
        resource::controller_revisions, daemon_set.meta.ns.str(),
        JsonObject{
            {"apiVersion", "apps/v1"},
            {"kind", "ControllerRevision"},
            {"metadata",
             JsonObject{{"name", fmt::format("{}-{}", daemon_set.meta.name.view(), state.hash)},
                        {"labels", std::move(labels)},
                        {"ownerReferences", owned_by(resource::daemon_sets, daemon_set)}}},
            {"data", JsonObject{{"spec", JsonObject{{"template", std::move(content)}}}}},
            {"revision", newest + 1}});
  }
  state.revision_in_flight = true;
  writer_.send(std::move(request), scope_.bind([this, key](const Result<Document>& written) {
    auto at = states_.find(key);
    if (at == states_.end()) return;
    at->second.revision_in_flight = false;
    if (!written && written.error().kind != ErrorKind::exists) {
      parts_.log.warning("cannot write a revision",
                         {{"daemonset", key}, {"error", written.error().text()}});
      queue_.retry(key);
      return;
    }
    // The cache's change will call; this is for the case that it came before the answer.
    look_soon(key);
  }));
  return false;
}

void DaemonSetController::sync_nodes(const GenericObject& daemon_set, State& state) {
  std::set<std::string> dirty = std::exchange(state.dirty, {});
  if (std::exchange(state.all_dirty, false)) {
    view_.nodes().for_each([&](const Object& node) { dirty.insert(node->meta.name.str()); });
    dirty.insert(state.eligible.begin(), state.eligible.end());
  }
  for (const std::string& node : dirty) sync_node(daemon_set, state, node);
}

void DaemonSetController::sync_node(const GenericObject& daemon_set, State& state,
                                    const std::string& node) {
  Object object = view_.nodes().find({"", node});
  bool wanted = object && is_eligible(daemon_set, *object);
  if (wanted) {
    state.eligible.insert(node);
  } else {
    state.eligible.erase(node);
  }
  std::vector<Object> live;
  bool occupied = false;
  view_.pods().for_each("node", node, [&](const Object& pod) {
    const OwnerReference* owner = pod->meta.controller();
    if (owner == nullptr || owner->uid != state.uid) return;
    occupied = true;
    if (pod->meta.is_deleting()) {
      // No kubelet is left to stop it.
      if (!object) delete_pod(daemon_set, state, *pod, 0);
      return;
    }
    if (is_finished(*pod) || !wanted) {
      delete_pod(daemon_set, state, *pod, object ? -1 : 0);
    } else {
      live.push_back(pod);
    }
  });
  // Of several (an answer was lost and the create done twice) the oldest stays.
  std::sort(live.begin(), live.end(), [](const Object& a, const Object& b) {
    return std::pair(a->meta.created, a->meta.name) < std::pair(b->meta.created, b->meta.name);
  });
  for (size_t i = 1; i < live.size(); ++i) delete_pod(daemon_set, state, *live[i]);
  // A pod that is on its way out still occupies the node.
  if (wanted && !occupied && !state.made.contains(node)) create_pod(daemon_set, state, node);
}

void DaemonSetController::create_pod(const GenericObject& daemon_set, State& state,
                                     const std::string& node) {
  Json pod = template_of(daemon_set);
  JsonObject& fields = pod.as_object();
  fields["apiVersion"] = "v1";
  fields["kind"] = "Pod";
  ObjectKey key{daemon_set.meta.ns.str(),
                fmt::format("{}-{}", daemon_set.meta.name.view(), parts_.random.suffix(5))};
  JsonObject& metadata = ensure_object(fields, "metadata");
  metadata.erase("creationTimestamp");
  metadata["name"] = key.name;
  metadata["ownerReferences"] = owned_by(resource::daemon_sets, daemon_set);
  JsonObject& labels = ensure_object(metadata, "labels");
  labels[hash_label] = state.hash;
  labels["pod-template-generation"] = std::to_string(daemon_set.meta.generation);
  JsonObject& spec = ensure_object(fields, "spec");
  spec["nodeName"] = node;
  spec["restartPolicy"] = "Always";

  state.made[node] = key;
  std::string set_key = daemon_set.meta.key().text();
  writer_.send(kube::create(resource::pods, key.ns, std::move(pod)),
               scope_.bind([this, set_key, node, key](const Result<Document>& created) {
                 if (created) {
                   // Until the cache has come as far as this, the pod counts as there.
                   view_.pods().expect(key, text_at(**created, "metadata", "resourceVersion"));
                   if (view_.pods().is_current(key)) return forget_made(set_key, node, key);
                   unseen_[key] = {set_key, node};
                   return;
                 }
                 Object namesake = view_.pods().find(key);
                 bool is_of_another_node = namesake && node_of(*namesake) != node;
                 if (created.error().kind == ErrorKind::exists && !is_of_another_node) {
                   // Made by a request whose answer was lost: no version to wait for.
                   parts_.loop.after(minutes(5), scope_.bind([this, set_key, node, key] {
                     forget_made(set_key, node, key);
                   }));
                   return;
                 }
                 parts_.log.warning("cannot create a pod",
                                    {{"pod", key.text()}, {"error", created.error().text()}});
                 forget_made(set_key, node, key);
               }));
}

void DaemonSetController::forget_made(const std::string& set_key, const std::string& node,
                                      const ObjectKey& pod) {
  auto at = states_.find(set_key);
  if (at == states_.end()) return;
  auto made = at->second.made.find(node);
  if (made == at->second.made.end() || made->second != pod) return;
  at->second.made.erase(made);
  at->second.dirty.insert(node);
  queue_.add_after(set_key, seconds(2));
}

void DaemonSetController::delete_pod(const GenericObject& daemon_set, State& state,
                                     const GenericObject& pod, int64_t grace_seconds) {
  std::string uid = pod.meta.uid.str();
  if (!state.doomed.insert(uid).second) return;
  std::string set_key = daemon_set.meta.key().text();
  writer_.send(remove_exactly(resource::pods, pod.meta.key(), uid, grace_seconds),
               scope_.bind([this, set_key, uid](const Result<Document>& removed) {
                 if (removed) return;
                 auto at = states_.find(set_key);
                 if (at != states_.end()) at->second.doomed.erase(uid);
               }));
}

void DaemonSetController::roll(const GenericObject& daemon_set, State& state) {
  bool all_new = std::all_of(state.tally.begin(), state.tally.end(), [&](const auto& entry) {
    return entry.first == state.hash || entry.second.live == 0;
  });
  if (all_new) return;
  std::vector<Object> old_unready;
  std::vector<Object> old_ready;
  auto ready = static_cast<int64_t>(0);
  view_.pods().for_each("owner", state.uid, [&](const Object& pod) {
    if (pod->meta.is_deleting() || state.doomed.contains(pod->meta.uid.str())) return;
    bool is_up = is_ready(*pod);
    ready += is_up ? 1 : 0;
    if (pod->meta.labels.get(hash_label) == state.hash) return;
    (is_up ? old_ready : old_unready).push_back(pod);
  });
  if (old_unready.empty() && old_ready.empty()) return;
  auto desired = static_cast<int64_t>(state.eligible.size());
  int64_t allowed = 1;
  if (const Json* text =
          find(*daemon_set.document, "spec", "updateStrategy", "rollingUpdate", "maxUnavailable")) {
    if (auto parsed = IntOrPercent::from_json(*text)) allowed = parsed->of(desired, Rounding::up);
  }
  // An old pod that is not ready costs nothing.
  for (const Object& pod : old_unready) delete_pod(daemon_set, state, *pod);
  for (const Object& pod : old_ready) {
    if (desired - ready >= std::max<int64_t>(allowed, 1)) break;
    delete_pod(daemon_set, state, *pod);
    --ready;
  }
}

void DaemonSetController::sync_status(const GenericObject& daemon_set, State& state) {
  if (state.status_in_flight) return;
  auto desired = static_cast<int64_t>(state.eligible.size());
  State::Tally all;
  for (const auto& [hash, tally] : state.tally) {
    all.live += tally.live;
    all.ready += tally.ready;
  }
  auto current = state.tally.find(state.hash);
  int64_t updated = current == state.tally.end() ? 0 : current->second.live;
  JsonObject status{{"desiredNumberScheduled", desired},
                    {"currentNumberScheduled", all.live},
                    {"updatedNumberScheduled", updated},
                    {"numberReady", all.ready},
                    {"numberAvailable", all.ready},
                    {"numberUnavailable", std::max<int64_t>(desired - all.ready, 0)},
                    {"numberMisscheduled", 0},
                    {"observedGeneration", daemon_set.meta.generation}};
  const Json* shown = find(*daemon_set.document, "status");
  bool same = shown != nullptr && shown->is_object();
  for (const auto& [name, value] : status)
    same = same && as_integer(find(*shown, name)) == value.get_int64();
  if (same) return;
  std::string key = daemon_set.meta.key().text();
  state.status_in_flight = true;
  writer_.send(status_patch(resource::daemon_sets, daemon_set.meta.key(), std::move(status)),
               scope_.bind([this, key](const Result<Document>&) {
                 auto at = states_.find(key);
                 if (at == states_.end()) return;
                 at->second.status_in_flight = false;
                 look_soon(key);
               }));
}

}  // namespace lockstep::sim

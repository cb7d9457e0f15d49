// What the simulated fleet sees of the cluster: one watch cache per type of object, shared by all
// of its actors. Whole documents, because actors copy templates and selectors out of them.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "kube/cache_feed.h"
#include "objects/generic_object.h"
#include "objects/pod.h"
#include "sim/actors/parts.h"

namespace lockstep::sim {

using ObjectCache = kube::Cache<GenericObject>;
using Object = ObjectCache::Object;

class View {
 public:
  explicit View(Parts parts) : parts_(parts) {}
  View(const View&) = delete;
  View& operator=(const View&) = delete;

  // The cache of a type, made on first use; begins to fill with start(). Index "owner": by the uid
  // of the controlling owner. Pods also have "node": by spec.nodeName, "" before they are bound.
  ObjectCache& of(const ResourceType& type);
  ObjectCache& pods() {
    if (pods_ == nullptr) pods_ = &of(resource::pods);
    return *pods_;
  }
  ObjectCache& nodes() {
    if (nodes_ == nullptr) nodes_ = &of(resource::nodes);
    return *nodes_;
  }

  void start();
  bool synced() const;

 private:
  Parts parts_;
  DecodeContext context_;
  std::map<ResourceType, std::unique_ptr<kube::CachedResource<GenericObject>>> resources_;
  ObjectCache* pods_ = nullptr;  // asked for all the time
  ObjectCache* nodes_ = nullptr;
  bool started_ = false;
};

// Facts of a pod's document.
std::string_view node_of(const GenericObject& pod);
PodPhase phase_of(const GenericObject& pod);
bool is_finished(const GenericObject& pod);
bool is_ready(const GenericObject& pod);
// By extended resources: what its containers ask for, all names that begin with nvidia.com/gpu or
// nvidia.com/mig-.
int64_t gpus_of(const Json& pod_spec);
// By name, from a template, or by an extended resource that a DRA driver provides.
bool has_claims(const Json& pod_spec);
// A container asks for the extended resource that the device class of GPUs provides.
bool asks_for_extended_gpu(const Json& pod_spec);
// The claims that a pod uses, given or made for it, as far as they are known.
std::vector<std::string> claims_named_by(const Json& pod);
// How many there will be once all that it asks for have been made.
size_t claims_wanted_by(const Json& pod_spec);

// metadata.labels has all of the selector's pairs; a missing selector selects everything.
bool matches_node_selector(const StringMap& labels, const Json* selector);
// {"apiVersion", "kind", "name", "uid", "controller": true, …} for a dependent of `owner`.
JsonArray owned_by(const ResourceType& type, const GenericObject& owner);

}  // namespace lockstep::sim

// The scheduler of the embedded cluster: binds pods to schedulable, ready nodes with enough free
// GPUs, allocates devices of ResourceSlices to claims, and leaves what fits nowhere Pending.
// Spreads: the node with the most free GPUs comes first.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/indexed_map.h"
#include "base/time.h"
#include "objects/node.h"
#include "sim/actors/parts.h"
#include "sim/actors/view.h"
#include "sim/actors/writer.h"

namespace lockstep::sim {

class Scheduler {
 public:
  Scheduler(Parts parts, View& view, Duration reaction = milliseconds(100));
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

 private:
  struct NodeFacts {
    bool usable = false;  // schedulable and ready
    int64_t gpus = 0;
    StringMap labels;
    std::vector<Taint> taints;
  };
  // What a bound pod holds of its node.
  struct Holding {
    std::string node;
    int64_t gpus = 0;
  };
  // Devices that a claim gets on a node.
  struct Allocation {
    ObjectKey claim;
    JsonArray results;
    std::vector<std::string> devices;  // "pool/device"
  };
  struct Placement {
    std::string node;
    std::vector<Allocation> allocations;
    std::vector<ObjectKey> reserved;  // claims that have their devices already
  };

  void on_pod(const ObjectCache::Change& change);
  void on_node(const ObjectCache::Change& change);
  void on_claim(const ObjectCache::Change& change);
  void on_slice(const ObjectCache::Change& change);
  void look_soon();
  void pass();

  std::optional<Placement> place(const GenericObject& pod);
  // The first by name of those with the most that is free; null: the pod fits nowhere.
  const std::string* find_node(const GenericObject& pod, const std::vector<ObjectKey>& claims,
                               const std::string& bound_to) const;
  bool fits(const GenericObject& pod, const std::string& name, const NodeFacts& node) const;
  int64_t devices_wanted(const std::vector<ObjectKey>& claims) const;
  std::optional<std::vector<Allocation>> allocate(const GenericObject& pod,
                                                  const std::vector<ObjectKey>& claims,
                                                  const std::string& node) const;
  void bind(const GenericObject& pod, Placement placement);
  void reserve_next(const GenericObject& pod, Placement placement);
  void give_up(const std::string& uid);
  void hold(const std::string& uid, Holding holding);
  void release(const std::string& uid);
  void use_devices(const std::string& claim_uid, std::vector<std::string> devices);
  void release_devices(const std::string& claim_uid);
  // What is free on a node, for find_node: after every change of what counts.
  void count_free(const std::string& node);
  std::optional<int64_t> free_gpus(const std::string& node) const;
  std::optional<int64_t> free_devices(const std::string& node) const;
  void mark_unschedulable(const GenericObject& pod);

  Parts parts_;
  View& view_;
  Duration reaction_;
  Writer writer_;
  DecodeContext context_;
  IndexedMap<std::string, NodeFacts> nodes_;
  std::unordered_map<std::string, int64_t> used_;  // GPUs held, by node
  // By pod uid; also of bindings in progress.
  std::unordered_map<std::string, Holding> holdings_;
  std::map<std::string, std::vector<std::string>> devices_;  // by node, in the slices' order
  std::map<std::string, int> used_devices_;                  // "pool/device"
  std::map<std::string, std::vector<std::string>> claimed_;  // claim uid -> "pool/device"
  // Usable nodes, the one with the most first: a fleet of any size is searched in a few steps.
  struct ByFree {
    std::set<std::pair<int64_t, std::string>> nodes;  // by what is free, negative, and by name
    std::unordered_map<std::string, int64_t> counted;
    void count(const std::string& node, std::optional<int64_t> free);
  };
  ByFree by_free_gpus_;
  ByFree by_free_devices_;
  std::map<std::string, std::vector<ObjectKey>> assumed_;  // pod uid -> claims given in its name
  std::set<ObjectKey> pending_;
  std::set<std::string> binding_;         // uids
  std::unordered_set<std::string> told_;  // uids of pods that carry the condition already
  bool scheduled_ = false;
  Scope scope_;
};

}  // namespace lockstep::sim

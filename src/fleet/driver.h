// The driver of a node as the cluster shows it: the DaemonSet that brings it, the pod that runs it,
// and whether the pod matches the DaemonSet.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "objects/daemon_set.h"
#include "objects/node.h"
#include "objects/pod.h"

namespace lockstep::fleet {

// Where the driver, its validators and NVIDIA's operator are installed. Any tenant can write their
// labels in another namespace: there they mean nothing.
struct DriverOptions {
  std::vector<std::string> namespaces = {"gpu-operator"};
  std::string validator_app = "nvidia-operator-validator";

  bool covers(std::string_view ns) const;
};

// By the labels of GPU Operator, a ClusterPolicy's or an NVIDIADriver's, in any namespace.
bool looks_like_driver(const StringMap& labels);
bool looks_like_driver(const DaemonSet& set);
bool looks_like_operator(const StringMap& labels);

bool is_driver_daemon_set(const DaemonSet& set, const DriverOptions& options);
// A DaemonSet controls it, or nothing does: Kubernetes removes the reference when a DaemonSet is
// deleted and its pods stay.
bool is_driver_pod(const Pod& pod, const DriverOptions& options);
bool is_validator_pod(const Pod& pod, const DriverOptions& options);
// Kubernetes itself replaces the DaemonSet's pods when its template changes.
bool is_rolled_by_kubernetes(const DaemonSet& set);

// The DaemonSet controller makes a pod for the node: its node selector matches, and the pods
// tolerate the node's taints (those of the node's condition and of a cordon are tolerated by every
// DaemonSet).
bool wants_pod_on(const DaemonSet& set, const Node& node);
bool selects(const DaemonSet& set, const Node& node);
// The taint that keeps the DaemonSet's pods off the node; null: none does.
const Taint* untolerated_taint(const DaemonSet& set, const Node& node);

// The revision with the highest number. A DaemonSet controller with a stale view can use a number
// twice: then the youngest, which is how Kubernetes itself sorts them. Null if not found.
const ControllerRevision* newest_revision(
    const std::vector<std::shared_ptr<const ControllerRevision>>& revisions);

struct DriverView {
  std::shared_ptr<const DaemonSet> set;  // null: no DaemonSet wants a driver here
  Text newest_revision;                  // its hash; empty: not known yet
  std::shared_ptr<const Pod> pod;        // null: none at the moment

  bool wanted() const { return set != nullptr || pod != nullptr; }
  // The pod's DaemonSet is gone.
  bool is_orphan() const;
  // The DaemonSet to ask about the pod: its owner, even if unknown here (deleted, or too new to be
  // in the cache). Without a pod, or without an owner, the DaemonSet that selects the node.
  std::optional<ObjectKey> set_to_ask() const;
  // Its DaemonSet does not leave the restarts to us: another update strategy than OnDelete.
  bool is_rolled_by_kubernetes() const;
  // Its DaemonSet is there, and what it wants is not known yet, or not any more.
  bool is_revision_unknown() const;
  // Of the newest revision.
  bool is_in_sync() const;
  // Known to be of an older revision. Neither this nor in sync while something is missing.
  bool is_out_of_sync() const;
  // In sync, Running, not on its way out, every container ready.
  bool is_settled() const;
  // Pod and template carry the same configuration digest: the change does not touch the driver.
  bool is_cosmetic_change() const;
  // The version in the image's tag ("580.126.20" of "driver:580.126.20-ubuntu24.04"); empty when
  // the tag does not say.
  std::string version() const;
  // What the template would bring.
  std::string newest_version() const;
};

// The driver's own image among the images of a pod; empty if not found.
std::string driver_image_of(const PodSpec& spec);

// The same for any image reference.
std::string version_of_image(std::string_view image);

// The driver that is loaded from an image of which the ClusterPolicy says this version; empty where
// it does not say: a branch of precompiled drivers, a digest.
std::string loaded_version(std::string_view written);

// The same version, though one may be written as a semantic version: NVIDIA names 580.105.08, and a
// ResourceSlice has 580.105.8, because the API accepts nothing else.
bool is_same_version(std::string_view one, std::string_view other);

bool is_running_and_ready(const Pod& pod);

// Older than the driver: one of its containers runs since before the driver was ready, and may have
// opened the one before. Both times are written by the same kubelet, by one clock, and have whole
// seconds: the same second counts as before, unless the pod is known to have come after
// (`is_new`). A needless restart takes seconds, a stale client breaks every claim. A container
// that does not run yet will start later than now.
bool is_older_than_driver(const Pod& pod, Time driver_ready, bool is_new = false);

}  // namespace lockstep::fleet

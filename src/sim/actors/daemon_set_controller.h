// The DaemonSet controller of the embedded cluster: one pod on each node that the template's
// nodeSelector names, cordoned or not; ControllerRevisions; OnDelete and RollingUpdate; status. A
// real cluster has its own.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "base/time.h"
#include "kube/queue.h"
#include "sim/actors/parts.h"
#include "sim/actors/view.h"
#include "sim/actors/writer.h"

namespace lockstep::sim {

struct DaemonSetOptions {
  // How long changes are gathered before a DaemonSet is reconciled.
  Duration reaction = milliseconds(200);
};

class DaemonSetController {
 public:
  DaemonSetController(Parts parts, View& view, DaemonSetOptions options = {});
  DaemonSetController(const DaemonSetController&) = delete;
  DaemonSetController& operator=(const DaemonSetController&) = delete;

 private:
  // What is known of one DaemonSet between two reconciliations.
  struct State {
    std::string uid;
    std::set<std::string> eligible;  // nodes on which it wants a pod
    std::set<std::string> dirty;     // nodes to reconcile
    bool all_dirty = true;
    std::map<std::string, ObjectKey> made;  // node -> a pod that the cache does not show yet
    // Live pods by the hash of their template, kept up with every change: a status of a thousand
    // pods must not cost a walk over a thousand pods.
    struct Tally {
      int64_t live = 0;
      int64_t ready = 0;
    };
    std::map<std::string, Tally, std::less<>> tally;
    bool tallied = false;
    std::set<std::string> doomed;       // uids of pods whose deletion is in progress
    std::string template_text_version;  // generation whose hash is known
    std::string hash;
    bool revision_in_flight = false;
    bool status_in_flight = false;
  };
  void on_daemon_set(const ObjectCache::Change& change);
  void on_pod(const ObjectCache::Change& change);
  void on_node(const ObjectCache::Change& change);
  void look_soon(const std::string& key);

  static void count(State& state, const GenericObject& pod, int64_t sign);
  void sync(const std::string& key);
  // False: the newest revision is being written; nothing may be made from the template yet.
  bool sync_revision(const GenericObject& daemon_set, State& state);
  void sync_nodes(const GenericObject& daemon_set, State& state);
  void sync_node(const GenericObject& daemon_set, State& state, const std::string& node);
  void create_pod(const GenericObject& daemon_set, State& state, const std::string& node);
  void forget_made(const std::string& set_key, const std::string& node, const ObjectKey& pod);
  void delete_pod(const GenericObject& daemon_set, State& state, const GenericObject& pod,
                  int64_t grace_seconds = -1);
  void roll(const GenericObject& daemon_set, State& state);
  void sync_status(const GenericObject& daemon_set, State& state);
  bool is_eligible(const GenericObject& daemon_set, const GenericObject& node) const;

  Parts parts_;
  View& view_;
  DaemonSetOptions options_;
  Writer writer_;
  std::map<std::string, State> states_;  // by "ns/name"
  std::map<std::string, std::string> key_by_uid_;
  // Pods that were made and that the cache has not come to yet: DaemonSet and node.
  std::map<ObjectKey, std::pair<std::string, std::string>> unseen_;
  kube::WorkQueue queue_;
  Scope scope_;
};

}  // namespace lockstep::sim

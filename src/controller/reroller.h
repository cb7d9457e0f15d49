// The post-install hook's loop (`lockstep reroll`): watches the drivers until their migration is
// over, deletes the DRA plugin's pods that are older than their node's driver, each as soon as its
// own node is done, and watches until their successors are ready. One run has one outcome.
//
// It needs only what the hook's roles allow: nodes and ClusterPolicies, the DaemonSets and pods of
// two namespaces, and the deletion of pods in the plugin's.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kube/backoff.h"
#include "kube/cache_feed.h"
#include "objects/daemon_set.h"
#include "objects/generic_object.h"
#include "objects/node.h"
#include "objects/pod.h"
#include "upgrade/reroll.h"
#include "world/log.h"
#include "world/loop.h"
#include "world/random.h"

namespace lockstep::controller {

struct RerollOptions {
  std::string driver_namespace = "gpu-operator";
  std::string plugin_namespace = "nvidia-dra-driver";
  std::optional<LabelSelector> plugin_selector;
  std::string key_domain = "nvidia.com";
  // What was delivered, where that is known: see upgrade::RerollRules.
  std::string driver_version;
  std::string chart_version;
  Duration timeout = minutes(20);         // of the driver's migration, and of reaching the API
  Duration rollout_timeout = minutes(5);  // of the plugins' restart, from the migration's end
  // The migration counts as finished once it has seemed so for this long: right after an upgrade
  // was delivered everything seems finished, because the operator has not begun.
  Duration settle = seconds(30);
  // How many plugins may be away at a time. A quarter: four turns fit well into the five minutes,
  // and a plugin that does not come up again stops the rest.
  IntOrPercent parallel = IntOrPercent::percentage(25);
  bool dry_run = false;
};

struct RerollOutcome {
  enum class Kind { rerolled, nothing_to_do, dry_run, failed };
  Kind kind = Kind::failed;
  std::string text;            // for users
  std::optional<Error> error;  // of failed
  upgrade::RerollView view;    // as last seen
};
std::string_view to_string(RerollOutcome::Kind kind);

class Reroller {
 public:
  // `say` gets the current wait, whenever that changes.
  Reroller(kube::Api& api, Loop& loop, Random& random, Log& log, RerollOptions options,
           std::function<void(const std::string&)> say);
  Reroller(const Reroller&) = delete;
  Reroller& operator=(const Reroller&) = delete;

  void start();
  // Nothing until it is over.
  const std::optional<RerollOutcome>& outcome() const { return outcome_; }
  // Pods that were deleted, as "node (namespace/name)", in order.
  const std::vector<std::string>& restarted() const { return restarted_; }

 private:
  void look();
  void look_within(Duration delay);
  void restart_stale(const upgrade::RerollView& view);
  void wait_for_migration(const upgrade::RerollView& view);
  void wait_for_plugins(const upgrade::RerollView& view);
  void restart(const upgrade::StalePlugin& plugin);
  void on_deleted(const upgrade::StalePlugin& plugin, kube::Reply reply);
  void say(std::string text);
  void finish(RerollOutcome::Kind kind, std::string text);
  void give_up(Error error);

  template <typename Visit>
  void for_each_watch(Visit visit) const;
  bool synced() const;
  // Every watch is open: what is seen is not from before a connection broke.
  bool watching() const;
  std::optional<Error> refusal() const;
  Error unsynced() const;
  upgrade::RerollWorld world() const;

  Loop& loop_;
  RerollOptions options_;
  upgrade::RerollRules rules_;
  std::function<void(const std::string&)> say_;
  DecodeContext context_;
  kube::CachedResource<Node> nodes_;
  kube::CachedResource<GenericObject> policies_;
  kube::CachedResource<DaemonSet> driver_sets_;
  kube::CachedResource<Pod> driver_pods_;
  kube::CachedResource<DaemonSet> plugin_sets_;
  kube::CachedResource<Pod> plugin_pods_;
  kube::Api& api_;

  std::string said_;
  upgrade::RerollView view_;
  std::map<upgrade::RerollKey, upgrade::Reroll> rerolled_;
  // For which driver a plugin is stale, by when that one became ready, and since when we know.
  std::map<upgrade::RerollKey, std::pair<Time, Duration>> stale_since_;
  std::vector<std::string> restarted_;
  std::optional<RerollOutcome> outcome_;
  Duration began_{0};
  std::optional<Duration> migrated_since_;
  std::optional<Duration> rollout_began_;
  size_t deletions_in_flight_ = 0;
  Duration no_deletion_before_{0};
  std::optional<Error> last_deletion_error_;
  kube::Backoff backoff_;
  TimerId timer_ = 0;
  Duration timer_due_{0};
  Scope scope_;
};

}  // namespace lockstep::controller

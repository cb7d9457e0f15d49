// The driver-manager's loop: read the node and the machine, decide, do one thing, and repeat when
// something changes. It has one outcome. Before that it restores the node, whether it succeeded,
// gave up, or was told to stop.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "kube/backoff.h"
#include "kube/cache_feed.h"
#include "kube/events.h"
#include "node/manager_decision.h"
#include "node/node_reader.h"
#include "objects/generic_object.h"
#include "world/log.h"
#include "world/loop.h"
#include "world/random.h"

namespace lockstep::node {

struct ManagerOutcome {
  enum class Kind {
    ready,          // the driver may be loaded
    pre_installed,  // the machine has one of its own, and no container may load another
    failed,
  };
  Kind kind = Kind::failed;
  std::string text;
  std::optional<Error> error;  // why it did not succeed
};

class DriverManager {
 public:
  DriverManager(kube::Api& api, Loop& loop, Random& random, Log& log, Host& host,
                ManagerSettings settings);
  DriverManager(const DriverManager&) = delete;
  DriverManager& operator=(const DriverManager&) = delete;

  void start();
  // Restores the node and ends. Waits first for a call in progress.
  void stop();
  // Nothing until it is over.
  const std::optional<ManagerOutcome>& outcome() const { return outcome_; }
  // Over, and nothing is left to be written about it.
  bool is_finished() const { return outcome_ && events_.idle(); }

 private:
  void look();
  void look_within(Duration delay);
  void on_read(Result<NodeReading> reading);
  ManagerView view_of(NodeReading reading, HostView host) const;
  void carry_out(const ManagerDecision& decision);
  void patch(const NodePatch& patch);
  void remove(const upgrade::PodRemovals& removals);
  void on_removed(const upgrade::PodRemoval& removal, const kube::Reply& reply);
  void unload(const UnloadModules& action);
  void clean_up(const CleanUp& action);
  void say(const ManagerDecision& decision);
  void on_trouble(const Error& error);

  void give_up(Error error);
  void close();
  void on_closing_node(Result<Document> node);
  void retry_closing(const Error& error);
  void finish(ManagerOutcome outcome);

  kube::Api& api_;
  Loop& loop_;
  Log& log_;
  Host& host_;
  ManagerSettings settings_;
  OperandLabels labels_;
  DecodeContext context_;
  NodeReader reader_;
  // Only to be woken by them.
  kube::CachedResource<GenericObject> node_watch_;
  kube::CachedResource<GenericObject> pod_watch_;
  kube::EventRecorder events_;
  kube::Backoff backoff_;

  std::optional<std::string> installed_driver_;
  std::optional<ManagerOutcome> outcome_;
  // Why it ends; the node is being restored.
  std::optional<Error> closing_;
  Duration closing_since_{0};
  bool busy_ = false;   // a call is in progress
  bool again_ = false;  // something changed meanwhile
  size_t removals_open_ = 0;
  std::optional<ManagerStep> step_;
  std::map<ManagerStep, Duration> first_at_;
  std::map<std::string, fleet::EvictionTries> tries_;  // by uid
  std::set<std::string> restarted_clients_;
  std::string unload_error_;
  std::string said_;
  Duration last_read_{0};
  Duration last_done_{0};
  TimerId timer_ = 0;
  Duration timer_due_{0};
  Scope scope_;
};

}  // namespace lockstep::node

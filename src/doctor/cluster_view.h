// All that the doctor reads of a cluster, as one value: put together by `lockstep doctor` and by
// tests.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "doctor/rights.h"
#include "doctor/webhook.h"
#include "fleet/keys.h"
#include "fleet/node_view.h"
#include "fleet/reason.h"
#include "objects/lease.h"
#include "objects/node.h"
#include "objects/resource_claim.h"
#include "rollout/compatibility_rules.h"
#include "rollout/matrix_file.h"
#include "upgrade/policy.h"

namespace lockstep::doctor {

struct Certificate {
  std::string what;  // "client certificate of context prod"
  Time ends;
  std::string fix;
};

struct PolicyFacts {
  upgrade::Policy policy;
  std::string object;               // "clusterpolicy/cluster-policy"
  std::vector<std::string> pruned;  // see upgrade::pruned_fields
};

struct ClusterView {
  Time now;
  fleet::Keys keys;
  std::string ns = "lockstep-system";  // of the controller
  // Nodes that have a driver or should, with their clients.
  std::vector<fleet::NodeView> nodes;
  std::vector<std::shared_ptr<const Node>> all_nodes;
  std::vector<PolicyFacts> policies;
  std::optional<fleet::Reason> conflicting_controller;
  // DRA plugins that publish GPUs and that no controller would restart with the driver.
  struct UnknownPlugin {
    std::string dra_driver;
    std::vector<std::string> nodes;
    std::vector<std::string> perhaps;  // DaemonSets that resemble it
  };
  std::vector<UnknownPlugin> unknown_plugins;
  // Where the driver is searched for, and what resembles it elsewhere.
  std::vector<std::string> driver_namespaces = {"gpu-operator"};
  struct Lookalike {
    std::string kind;  // "DaemonSet"
    ObjectKey key;
    std::string of;  // "the GPU driver"
  };
  std::vector<Lookalike> lookalikes;
  // Of controllers, in any namespace. Any user may make one in a namespace of their own.
  std::vector<Lease> leases;
  // Other namespaces in which a controller has the rights of one: it is no user's imitation.
  std::set<std::string, std::less<>> installed_in;
  std::vector<std::shared_ptr<const ResourceClaim>> claims;
  std::set<std::string> pod_uids;
  std::vector<Webhook> webhooks;
  std::vector<ObjectKey> ready_services;
  std::vector<std::pair<Right, std::optional<bool>>> rights;
  std::string rights_of;                 // the user whose rights were asked
  std::optional<Duration> server_ahead;  // the API server's clock, by how much it is ahead of ours
  std::vector<std::pair<std::string, Time>> heartbeats;  // of kubelets, by their own clocks
  std::vector<Certificate> certificates;
  std::optional<rollout::Matrix> matrix;
  std::optional<rollout::Compatibility> compatibility;
  std::string kubernetes_version;
  // How long a claim may take to go: what ends by itself takes less.
  Duration claim_patience = minutes(10);
  // By the name of a check: why what it needs could not be read.
  std::map<std::string, std::string> unread;
};

}  // namespace lockstep::doctor

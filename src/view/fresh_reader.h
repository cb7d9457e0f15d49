// One node and its pods as the API server has them, not as the watches last brought them. A watch
// may be late by a minute and say nothing of it. A get and a list that name no resourceVersion are
// answered from the newest state, whatever lags. They cost more, so they are used only before an
// irreversible step.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fleet/node_view.h"
#include "kube/api.h"
#include "kube/cache.h"
#include "objects/daemon_set.h"
#include "objects/decode.h"
#include "objects/resource_claim.h"
#include "objects/resource_slice.h"
#include "world/loop.h"

namespace lockstep::view {

// What is read besides the node's pods.
struct FreshNeeds {
  // Set: the node is taken as it is here and not read. For what is written to the node itself and
  // names this version: the server refuses it if there is a newer one.
  std::shared_ptr<const Node> node;
  bool driver = true;
  std::optional<ObjectKey> driver_set;  // which one; none: none is known
  bool revisions = false;               // of that one
  bool slices = false;                  // the node's ResourceSlices
};

struct FreshNode {
  std::shared_ptr<const Node> node;  // null: not found
  bool has_read_node = false;
  std::vector<fleet::PodPtr> pods;  // on the node, by namespace and name
  // The driver DaemonSet as it is now, where one was asked for and is there.
  bool has_read_driver = false;
  std::optional<ObjectKey> asked_driver_set;
  std::shared_ptr<const DaemonSet> driver_set;
  bool has_read_revisions = false;
  std::vector<std::shared_ptr<const ControllerRevision>> revisions;  // of its namespace
  // The node's ResourceSlices; none: they were not read.
  std::optional<std::vector<std::shared_ptr<const ResourceSlice>>> slices;
  // Of those pods, what the watch had not shown as allocated; null: the claim does not exist.
  std::map<ObjectKey, std::shared_ptr<const ResourceClaim>> claims;
};

class FreshReader {
 public:
  // An error: something could not be read, and nothing may be concluded.
  using Done = std::function<void(Result<FreshNode>)>;

  // `claims`: what is known of claims without asking. An allocation that is seen does not go while
  // its pod runs, so only the others are read.
  FreshReader(kube::Api& api, DecodeContext& context, const kube::Cache<ResourceClaim>& claims)
      : api_(api), context_(context), claims_(claims) {}

  // One list, a get of the node and one of the driver DaemonSet where they are needed, a list of
  // its namespace's revisions and one of the node's slices where those are, and a get for each
  // claim of which it is not known whether it is a GPU's.
  void read(const std::string& node, const FreshNeeds& needs, Done done);

 private:
  struct Reading;
  using Shared = std::shared_ptr<Reading>;

  void ask(const Shared& reading, kube::Request request,
           std::function<void(const kube::Response&)> take);
  void take_node(Reading& reading, const kube::Response& response);
  void take_driver_set(Reading& reading, const kube::Response& response);
  void take_revisions(Reading& reading, const kube::Response& response);
  void take_slices(Reading& reading, const kube::Response& response);
  void take_pods(const Shared& reading, const kube::Response& response);
  void take_claim(Reading& reading, const ObjectKey& key, const kube::Response& response);

  kube::Api& api_;
  DecodeContext& context_;
  const kube::Cache<ResourceClaim>& claims_;
  Scope scope_;
};

// The driver's template has changed, and perhaps back: until the watches show it, which revision is
// the newest is not known. `view`: what is known of the node that was read.
bool is_behind_on_driver(const FreshNode& fresh, const fleet::NodeView& view);

// What was read and the caches do not show yet: until they do, reading again gives nothing new.
class Backlog {
 public:
  Backlog() = default;
  Backlog(const FreshNode& fresh, const std::string& node, const kube::Cache<Pod>& pods);

  bool remains(const kube::Cache<Node>& nodes, const kube::Cache<Pod>& pods) const;

 private:
  std::string node_version_;
  std::string pods_version_;                      // the newest of a pod on the node
  std::vector<std::pair<ObjectKey, Text>> gone_;  // pods that are shown, with their uids
};

}  // namespace lockstep::view

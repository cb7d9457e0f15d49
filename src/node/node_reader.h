// One node, the pods on it and their claims, as the cluster itself has them now: everything that
// the driver-manager does is decided on this, and never on what a watch last brought.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "fleet/gpu_pods.h"
#include "kube/api.h"
#include "node/manager_view.h"
#include "objects/decode.h"
#include "world/loop.h"

namespace lockstep::node {

struct NodeReading {
  std::shared_ptr<const Node> node;
  std::vector<PodHere> pods;  // by namespace and name
};

class NodeReader {
 public:
  // An error: something could not be read, and nothing may be concluded.
  using Done = std::function<void(Result<NodeReading>)>;

  NodeReader(kube::Api& api, fleet::GpuPodOptions gpu_pods)
      : api_(api), gpu_pods_(std::move(gpu_pods)) {}

  // One get, one list, and a get for each claim of a pod on the node.
  void read(const std::string& node, Done done);

 private:
  struct Reading;
  using Shared = std::shared_ptr<Reading>;

  void ask(const Shared& reading, kube::Request request,
           std::function<void(const kube::Response&)> take);
  void take_node(Reading& reading, const kube::Response& response);
  void take_pods(const Shared& reading, const kube::Response& response);
  void take_claim(Reading& reading, const ObjectKey& key, const kube::Response& response);
  Result<NodeReading> finish(Reading& reading) const;

  kube::Api& api_;
  fleet::GpuPodOptions gpu_pods_;
  DecodeContext context_;
  Scope scope_;
};

}  // namespace lockstep::node

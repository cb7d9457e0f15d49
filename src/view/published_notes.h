// Where a view's `known` comes from: what no object of a node says. The controller that leads is a
// source by itself; every other process reads what it publishes, here.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "fleet/node_view.h"
#include "kube/cache.h"
#include "objects/config_map.h"
#include "view/controller_notes.h"
#include "world/loop.h"

namespace lockstep::view {

class KnowledgeSource {
 public:
  virtual ~KnowledgeSource() = default;
  // Fills in `known` of a view that shows the rest.
  virtual void tell(fleet::NodeView& view) const = 0;
  // What became of tries to move the pod, and how long it is until the next.
  virtual void tell_tries(std::string_view node, fleet::PodOnNode& entry) const = 0;
};

// What the controller publishes, and the slots that it has given.
class PublishedNotes final : public KnowledgeSource {
 public:
  // `touch`: what is known of this node has changed.
  PublishedNotes(const Loop& loop, std::function<void(const std::string& node)> touch)
      : loop_(loop), touch_(std::move(touch)) {}

  void take_notes(const kube::Cache<ConfigMap>::Change& change);
  void take_ledger(const kube::Cache<ConfigMap>::Change& change);
  void tell(fleet::NodeView& view) const override;
  void tell_tries(std::string_view node, fleet::PodOnNode& entry) const override;

 private:
  const Loop& loop_;
  std::function<void(const std::string& node)> touch_;
  ControllerNotes notes_;
  std::map<std::string, std::string, std::less<>> slots_;  // node -> its version, by the ledger
};

}  // namespace lockstep::view

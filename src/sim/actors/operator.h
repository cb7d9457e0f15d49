// The simulated GPU operator: turns ClusterPolicy and NVIDIADriver into driver DaemonSets, labels
// the nodes of an NVIDIADriver, and keeps their status. On request it also restarts the DRA plugin
// after an upgrade as users do, with the gaps of those workarounds.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "kube/queue.h"
#include "sim/actors/driver_template.h"
#include "sim/actors/parts.h"
#include "sim/actors/view.h"
#include "sim/actors/writer.h"

namespace lockstep::sim {

struct OperatorOptions {
  // The chart's version, from the ClusterPolicy's label helm.sh/chart, goes into an annotation of
  // the DRA DaemonSet's pods: they are restarted with the upgrade, on no node at the right moment.
  bool annotate_dra = false;
  // Once all driver pods of the fleet are new and ready, the DRA DaemonSet is restarted.
  bool restart_dra_after_upgrade = false;
  Duration reaction = milliseconds(500);
};

class GpuOperator {
 public:
  GpuOperator(Parts parts, View& view, OperatorOptions options = {});
  GpuOperator(const GpuOperator&) = delete;
  GpuOperator& operator=(const GpuOperator&) = delete;

 private:
  void sync(const std::string& key);
  void sync_policy(const GenericObject& policy);
  void sync_driver(const GenericObject& driver);
  // True if the DaemonSet is up to date.
  bool apply(const DriverConfig& config, const ResourceType& type, const GenericObject& owner);
  void label_nodes();
  // Whose driver the node is to have: a name, empty for no driver; nothing where two want it.
  std::optional<std::string> owner_of(const GenericObject& node) const;
  void write_state(const ResourceType& type, const GenericObject& object, bool ready);
  bool is_rolled_out(const std::string& daemon_set) const;
  void annotate_dra(std::string_view key, const std::string& value);
  void look_at_all();

  Parts parts_;
  View& view_;
  OperatorOptions options_;
  Writer writer_;
  bool upgrade_seen_ =
      false;  // a driver DaemonSet was changed and the DRA plugins not restarted since
  // The settings of each policy or driver, by DaemonSet: computed again when its object
  // changes.
  struct Wanted {
    Document of;
    Json daemon_set;
  };
  std::map<std::string, Wanted> wanted_;
  std::set<std::string> in_flight_;
  kube::WorkQueue queue_;
  Scope scope_;
};

}  // namespace lockstep::sim

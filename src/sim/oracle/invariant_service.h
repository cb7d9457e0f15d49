// How a node returns to service: not against a user's decision, and not before the clients of its
// driver work again.
#pragma once

#include <map>
#include <string>

#include "sim/oracle/invariant.h"

namespace lockstep::sim {

// A node that a user cordoned before the upgrade stays cordoned.
class AdminCordon final : public Invariant {
 public:
  using Invariant::Invariant;
  void on_node(const NodeStep& step) override;
};

// The driver is loaded, no client holds an earlier one, the node offers what is loaded, and the
// validators are ready. On every path to service: where we restarted its driver, its clients have
// been renewed since.
class FitForService final : public Invariant {
 public:
  FitForService(const Truth& truth, Accuse accuse, bool clients)
      : Invariant(truth, std::move(accuse)), clients_(clients) {}
  void on_node(const NodeStep& step) override;
  void on_pod_end(const PodEnd& end) override;
  void on_change(const std::string& storage, const apiserver::Change& change, bool ours) override;

 private:
  void note_beginning(const NodeStep& step);
  void check_same_pod(const std::string& node);
  void check_renewal(const std::string& node) const;
  void check_driver(const std::string& node) const;
  // Where they are not, it has said so.
  bool has_fit_clients(const std::string& node) const;
  void check_slices(const std::string& node) const;
  void check_validators(const std::string& node) const;
  // It was never ready, so no controller can have seen it ready.
  bool validated_another_load(const std::string& node, const ObjectKey& key) const;
  bool never_ready(const std::string& node, const ObjectKey& key, const PodTruth& pod) const;

  bool clients_;
  std::map<std::string, std::string> began_with_;  // by node, the uid of its driver pod
  std::map<std::string, uint64_t> generations_;    // of the module, when its validation began
  struct Restart {
    bool ours = false;
    uint64_t generation = 0;  // that was loaded when the driver pod was made to go
    Duration at{0};
  };
  std::map<std::string, Restart> restarts_;          // by node, the last
  std::map<std::string, Duration> validator_ended_;  // by node, by others' doing, the last
  std::map<std::string, Duration> published_;  // ResourceSlices, by name, when they last changed
};

}  // namespace lockstep::sim

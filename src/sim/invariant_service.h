// How a node returns to service: not against a person's will, and not before what uses its driver
// works again.
#pragma once

#include <map>
#include <string>

#include "sim/invariant.h"

namespace lockstep::sim {

// What a person cordoned before the upgrade took the node stays cordoned.
class AdminCordon final : public Invariant {
 public:
  using Invariant::Invariant;
  void on_node(const NodeStep& step) override;
};

// The driver is loaded, no client holds one from before, and the validators are ready.
class FitForService final : public Invariant {
 public:
  FitForService(const Truth& truth, Accuse accuse, bool clients)
      : Invariant(truth, std::move(accuse)), clients_(clients) {}
  void on_node(const NodeStep& step) override;

 private:
  void check_driver(const std::string& node) const;
  void check_clients(const std::string& node) const;
  void check_validators(const std::string& node) const;
  // It was never ready, so nobody can have seen it so.
  bool never_ready(const ObjectKey& key, const PodTruth& pod) const;

  bool clients_;
  std::map<std::string, uint64_t> generations_;  // of the module, when its validation began
};

}  // namespace lockstep::sim

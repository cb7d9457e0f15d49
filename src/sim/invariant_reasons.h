// The reason that is shown is the true one: what a failed or waiting node says is held against the
// facts.
#pragma once

#include <map>
#include <string>

#include "sim/invariant.h"
#include "upgrade/reason.h"

namespace lockstep::sim {

class TrueReasons final : public Invariant {
 public:
  using Invariant::Invariant;
  void on_node(const NodeStep& step) override;
  void on_change(const std::string& storage, const apiserver::Change& change, bool ours) override;

  // What is said of each node now, by a controller to which nothing has been hidden for a while.
  void check_waiting(const std::map<std::string, upgrade::Reason>& reasons) const;

 private:
  // Empty: it is true, or cannot be told.
  std::string objection_to_failure(const NodeStep& step, std::string_view reason) const;
  std::string objection_to_driver(const NodeStep& step, std::string_view reason) const;
  std::string objection_to_wait(const NodeTruth& node, std::string_view reason) const;
  bool blocked_lately(const std::string& node) const;

  struct Blocked {
    Duration last{0};  // when it last allowed nothing
    bool gone = false;
    Document budget;
  };
  std::map<ObjectKey, Blocked> blocked_;
};

}  // namespace lockstep::sim

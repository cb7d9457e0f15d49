// The reason that is shown is the true one: what a failed or waiting node says is compared with the
// facts.
#pragma once

#include <map>
#include <string>

#include "fleet/reason.h"
#include "sim/oracle/invariant.h"
#include "sim/oracle/reason_evidence.h"

namespace lockstep::sim {

class TrueReasons final : public Invariant {
 public:
  TrueReasons(const Truth& truth, Accuse accuse)
      : Invariant(truth, std::move(accuse)), evidence_(truth) {}
  void on_node(const NodeStep& step) override;
  void on_change(const std::string& storage, const apiserver::Change& change, bool ours) override;
  void on_call(int life, const kube::Request& request) override;
  void on_reply(int life, const kube::Request& request, const kube::Response& reply) override;

  // What is said of each node now, by a controller to which nothing has been hidden for a while.
  void check_shown(const std::map<std::string, fleet::Reason>& reasons) const;

 private:
  ReasonEvidence evidence_;
};

}  // namespace lockstep::sim

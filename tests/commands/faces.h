// What the faces of a running Lockstep say of each node at one moment: `status`, `why`, `top`, a
// dashboard by itself, the metrics and Events of the controller; and where they do not agree.
// Against any cluster, embedded or real.
#pragma once

#include <string>
#include <vector>

#include "cluster.h"

namespace lockstep::commands {

class Faces {
 public:
  // Starts a dashboard. `flags`: of each command, as the kubeconfig to use.
  Faces(Cluster& cluster, const Child& controller, std::vector<std::string> flags = {});

  // One line for each answer that differs from that of `lockstep status`; empty: all say the same.
  std::vector<std::string> differences();
  // The reason that `lockstep status` gives for a node; empty: it has none.
  std::string reason(const std::string& node);
  // How many nodes have this reason.
  int count(const std::string& reason);

 private:
  struct Said {
    std::string state;
    std::string reason;
    std::string remedy;
  };
  std::map<std::string, Said> status();
  Json run_json(std::vector<std::string> words);

  Cluster& cluster_;
  const Child& controller_;
  std::vector<std::string> flags_;
  std::string url_;
};

// A whole rollout with failures: nodes that a disruption budget blocks, that fail, a rollout that
// holds, a retry, and the end. The cluster has a fleet of four nodes with work on two of them, the
// definition of DriverRollouts, and a controller that leads.
void compare_faces_through_a_rollout(Cluster& cluster, const Child& controller,
                                     const std::vector<std::string>& flags = {});

}  // namespace lockstep::commands

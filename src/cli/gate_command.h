// `lockstep gate`: the GPU checks on this node; and the process that makes them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "cli/cluster_session.h"
#include "gpu/gate.h"

namespace lockstep::cli {

struct GateFlags {
  std::vector<std::string> checks;
  std::string expect_driver;
  std::string baseline;
  std::string save_baseline;
  std::vector<std::string> gpus = {"all"};
  std::string budget = "30s";
  std::string output = "table";
  bool list = false;
  std::string termination_message;  // file for what a rollout reads of the pod
  std::string root;
  // Of another node: the gate is run there as a Job.
  std::string node;
  ClusterFlags cluster;
  std::string ns = "lockstep-gates";
  std::string image;  // empty: the one of rollouts' gates
  std::string node_timeout = "10m";
  // For tests, and for measuring the gate itself.
  std::string library_directory;
  std::string call_deadline = "10s";
  std::string wrong;
  std::string product;
  unsigned product_size = 0;
  size_t copy_bytes = 64 << 20;
};
int run_gate_command(const GateFlags& flags);
// In the form that the flags ask for.
void print_gate_outcome(const GateFlags& flags, const gpu::GateOutcome& outcome, Time started);

constexpr std::string_view gate_worker_word = "gate-worker";
int run_gate_worker();

}  // namespace lockstep::cli

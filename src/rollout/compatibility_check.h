// Whether versions go together: minimum driver per CUDA, operator per Kubernetes, floors and holes
// of drivers per GPU model. Pure; what it does not know it says, and never calls it good.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rollout/compatibility_rules.h"
#include "rollout/matrix_file.h"

namespace lockstep::rollout {

// One column of the matrix, with what else is known of the cluster.
struct VersionTuple {
  std::string driver = {};
  std::string cuda = {};
  std::string gpu_operator = {};
  std::string kubernetes = {};
  std::string openshift = {};
  std::vector<std::string> gpus = {};  // models: "H100", "NVIDIA-B200"
  bool mig = false;
  // CUDA applications may run with a driver of the same major version that is older than their
  // toolkit's, without what is new.
  bool minor_compatibility = false;
};

VersionTuple tuple_of(const Matrix& matrix, Slot slot);

enum class RuleOutcome { broken, unknown };

struct CompatibilityFinding {
  RuleOutcome verdict = RuleOutcome::broken;
  std::string rule;     // "cuda-driver", "operator-openshift", the name of a driver's rule
  std::string message;  // what, and what to do
  std::string source;   // an address; empty where nothing is known
};

// In a fixed order; empty: nothing speaks against it, and all of it is known.
std::vector<CompatibilityFinding> check_compatibility(const VersionTuple& tuple,
                                                      const Compatibility& rules);

bool is_broken(const std::vector<CompatibilityFinding>& findings);

// "NVIDIA-H100-80GB-HBM3" is an H100, "NVIDIA GH200" is not.
bool is_model(std::string_view product, std::string_view model);

}  // namespace lockstep::rollout

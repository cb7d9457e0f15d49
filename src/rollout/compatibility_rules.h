// What goes together, as data (recipes/compatibility.yaml), every figure with its source.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "rollout/compatibility_version.h"

namespace lockstep::rollout {

// A version as the file has it, for messages, and as numbers.
struct Bound {
  std::string text;
  Version version;
};

struct CudaRule {
  Bound cuda;    // 12.8, or 12 for a whole major version
  Bound driver;  // at least
  std::string source;
};

struct OperatorRule {
  Bound release;  // 24.9: all of its patches
  Bound kubernetes_from, kubernetes_to;
  Bound openshift_from, openshift_to;
  std::string source;
};

// What a GPU model asks of the driver.
struct DriverRule {
  std::string name;
  std::vector<std::string> models;  // empty: all
  bool with_mig_only = false;
  std::optional<Bound> at_least;
  std::optional<Bound> below;
  // Holes: single versions, and a range that ends before its second bound.
  std::vector<Bound> not_versions;
  std::optional<Bound> hole_from, hole_before;
  std::string reason;
  std::string source;
};

struct Compatibility {
  std::map<std::string, std::string, std::less<>> sources;  // name to address
  // The driver that a toolkit release was made for.
  std::vector<CudaRule> toolkits;
  // The oldest driver that runs any release of a CUDA major version, with what is new in it missing
  // (NVIDIA's minor version compatibility).
  std::vector<CudaRule> majors;
  std::vector<OperatorRule> operators;
  std::vector<DriverRule> drivers;
};

// Refuses keys that it does not know, figures without a source, and sources that are not listed.
Result<Compatibility> read_compatibility(std::string_view text, std::string_view name);

}  // namespace lockstep::rollout

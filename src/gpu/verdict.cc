#include "gpu/verdict.h"

#include <algorithm>

#include "base/strings.h"

namespace lockstep::gpu {

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::passed:
      return "Passed";
    case Verdict::skipped:
      return "Skipped";
    case Verdict::inconclusive:
      return "Inconclusive";
    case Verdict::error:
      return "Error";
    case Verdict::failed:
      return "Failed";
  }
  return "Error";
}

Verdict worse(Verdict a, Verdict b) { return std::max(a, b); }

const std::vector<CheckAbout>& all_checks() {
  static const std::vector<CheckAbout> checks = {
      {"driver", "library, kernel module, device nodes, GPU count and UUIDs",
       "any differs from what is expected or from the baseline"},
      {"ecc", "ECC counts, row remaps, retired pages, recovery action",
       "uncorrectable errors since the baseline, a remap that failed or is pending"},
      {"training", "a small network trained twice on every multiprocessor",
       "the loss is not the CPU's, a NaN, two runs differ"},
      {"inference", "a batched forward pass on the tensor cores, held against the CPU",
       "a wrong result, or slower than 0.95 x baseline"},
      {"memory", "patterns over most of the free memory, and its bandwidth",
       "one wrong byte, or slower than 0.9 x baseline or the model's floor"},
      {"pcie", "copies between host and GPU, content checked",
       "a wrong byte, or slower than 0.9 x baseline or the model's floor"},
      {"peer", "copies between all pairs of GPUs, content checked",
       "a wrong byte, or slower than 0.9 x baseline"},
      {"nvlink", "links, their speed and errors, the fabric",
       "an inactive link, errors that grew, a fabric that is not up"},
      {"rdma", "InfiniBand, RoCE and EFA ports",
       "an expected port is not up or slower than it was, or its link went down"},
      {"xid", "the kernel log and NVML's events while the gate runs", "a fatal XID"},
      {"throttle", "clocks and slowdowns while the gate runs", "a slowdown by the hardware"},
  };
  return checks;
}

Result<std::vector<std::string>> chosen_checks(const std::vector<std::string>& names) {
  std::vector<std::string> all;
  for (const CheckAbout& check : all_checks()) all.emplace_back(check.name);
  if (names.empty()) return all;
  std::vector<std::string> chosen;
  for (const std::string& name : names) {
    if (std::find(all.begin(), all.end(), name) == all.end()) {
      auto near = nearest(name, all);
      return fail(ErrorKind::invalid,
                  near ? fmt::format("there is no check {}; did you mean {}?", name, *near)
                       : fmt::format("there is no check {}; lockstep gate --list names them", name),
                  "--check");
    }
  }
  for (const std::string& name : all) {
    if (std::find(names.begin(), names.end(), name) != names.end()) chosen.push_back(name);
  }
  return chosen;
}

}  // namespace lockstep::gpu

// The checks of `lockstep gate`, by name. A user may request them on a node, and a rollout may name
// them as built-in gates. They are in the order in which results are shown.
#pragma once

#include <array>
#include <string_view>

namespace lockstep {

struct GateCheck {
  std::string_view name;
  std::string_view about;
  std::string_view fails_when;
};

inline constexpr std::array<GateCheck, 11> gate_checks{{
    {"driver", "library, kernel module, device nodes, GPU count and UUIDs",
     "any differs from what is expected or from the baseline"},
    {"ecc", "ECC counts, row remaps, retired pages, recovery action",
     "uncorrectable errors since the baseline, a remap that failed or is pending"},
    {"training", "a small network trained twice on every multiprocessor",
     "the loss is not the CPU's, a NaN, two runs differ"},
    {"inference", "a batched forward pass on the tensor cores, compared with the CPU",
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
}};

}  // namespace lockstep

// What the facts of a gate are worth. Pure: facts, the facts of an earlier gate, and data go in,
// verdicts come out. No data is never Passed.
//
// Facts, as the workers and the gate put them together:
//   node: {driver_version, nvml_version, ...}   host: {module_version, missing_nodes}
//   gpus: {UUID: {identity, before, after, clocks, training, inference, memory, pcie}}
//   peers: [...]  rdma: {before, after}  xids: [{code, pci, line}]  xid_sources: [...]
//   troubles: {UUID or "": {check: {failed, text}}}   seconds: {UUID or "": {check: s}}
#pragma once

#include <string>
#include <vector>

#include "data/json.h"
#include "gpu/gpu_models.h"
#include "gpu/verdict.h"
#include "gpu/xid.h"

namespace lockstep::gpu {

struct JudgeInput {
  const Json& facts;
  const Json* baseline = nullptr;  // facts of an earlier gate
  const GpuModels& models;
  const XidClasses& xids;
  std::string expect_driver;
  std::vector<std::string> checks;
  bool asked_by_name = false;  // then what is not there is Inconclusive, not Skipped
};

std::vector<CheckResult> judge(const JudgeInput& input);

// One of a GPU's checks; `gpu` are its facts, `baseline` those of an earlier gate, if it had this
// GPU.
struct GpuEvidence {
  const Json& gpu;
  const Json* baseline = nullptr;
  const GpuModel* model = nullptr;  // null: unknown
  bool asked_by_name = false;
  size_t gpus = 1;  // of the node
};
CheckResult judge_ecc(const GpuEvidence& evidence);
CheckResult judge_training(const GpuEvidence& evidence);
CheckResult judge_inference(const GpuEvidence& evidence);
CheckResult judge_memory(const GpuEvidence& evidence);
CheckResult judge_pcie(const GpuEvidence& evidence);
CheckResult judge_nvlink(const GpuEvidence& evidence);
CheckResult judge_throttle(const GpuEvidence& evidence);

CheckResult judge_driver(const JudgeInput& input);
CheckResult judge_peer(const JudgeInput& input);
CheckResult judge_rdma(const JudgeInput& input);
CheckResult judge_xid(const JudgeInput& input);

// Shared by them.
std::optional<double> number_at(const Json* value, std::string_view key);
CheckResult result_of(Verdict verdict, std::string text);
// For facts with errors that NVML answered with: Failed where the GPU is lost, else
// Error.
std::optional<CheckResult> trouble_in(const Json* facts);

}  // namespace lockstep::gpu

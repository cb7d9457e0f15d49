#include "gpu/judge.h"

#include <algorithm>
#include <map>

namespace lockstep::gpu {

namespace {

using JudgeGpu = CheckResult (*)(const GpuEvidence&);
using JudgeNode = CheckResult (*)(const JudgeInput&);

const std::map<std::string, JudgeGpu, std::less<>>& gpu_judges() {
  static const std::map<std::string, JudgeGpu, std::less<>> judges = {
      {"ecc", judge_ecc},           {"training", judge_training}, {"inference", judge_inference},
      {"memory", judge_memory},     {"pcie", judge_pcie},         {"nvlink", judge_nvlink},
      {"throttle", judge_throttle},
  };
  return judges;
}

const std::map<std::string, JudgeNode, std::less<>>& node_judges() {
  static const std::map<std::string, JudgeNode, std::less<>> judges = {
      {"driver", judge_driver}, {"peer", judge_peer}, {"rdma", judge_rdma}, {"xid", judge_xid}};
  return judges;
}

// A worker could not make the check, or the GPU failed in the middle of it.
std::optional<CheckResult> reported_trouble(const Json& facts, std::string_view owner,
                                            std::string_view check) {
  const Json* trouble = find(facts, "troubles", owner, check);
  if (trouble == nullptr) return std::nullopt;
  const bool failed = as_bool(find(*trouble, "failed"));
  const bool unfinished = as_bool(find(*trouble, "unfinished"));
  return result_of(failed       ? Verdict::failed
                   : unfinished ? Verdict::inconclusive
                                : Verdict::error,
                   std::string(text_at(*trouble, "text")));
}

void finish(CheckResult& result, const JudgeInput& input, std::string_view check,
            std::string_view gpu) {
  result.check = check;
  result.gpu = gpu;
  if (const Json* seconds = find(input.facts, "seconds", gpu))
    result.seconds = number_at(seconds, check).value_or(0);
}

// A lost GPU answers nothing: whatever was asked of it has failed.
std::optional<CheckResult> lost_gpu(const Json& gpu) {
  const Json* identity = find(gpu, "identity");
  if (identity == nullptr || !as_bool(find(*identity, "lost"))) return std::nullopt;
  return trouble_in(identity);
}

CheckResult judge_gpu(const JudgeInput& input, std::string_view check, std::string_view uuid,
                      const Json& gpu) {
  if (auto lost = lost_gpu(gpu)) return *lost;
  if (auto trouble = reported_trouble(input.facts, uuid, check)) return *trouble;
  if (auto trouble = reported_trouble(input.facts, "", check)) return *trouble;
  GpuEvidence evidence{gpu, nullptr, nullptr, input.asked_by_name};
  if (input.baseline != nullptr) evidence.baseline = find(*input.baseline, "gpus", uuid);
  if (const Json* all = find(input.facts, "all_gpus"); all != nullptr && all->is_object())
    evidence.gpus = all->as_object().size();
  evidence.model = input.models.find(text_at(gpu, "identity", "name"));
  return gpu_judges().find(check)->second(evidence);
}

}  // namespace

std::optional<double> number_at(const Json* value, std::string_view key) {
  const Json* found = value == nullptr ? nullptr : find(*value, key);
  if (found == nullptr || !found->is_number()) return std::nullopt;
  return as_number(*found);
}

CheckResult result_of(Verdict verdict, std::string text) {
  CheckResult result;
  result.verdict = verdict;
  result.text = std::move(text);
  return result;
}

std::optional<CheckResult> trouble_in(const Json* facts) {
  const Json* errors = facts == nullptr ? nullptr : find(*facts, "errors");
  if (errors == nullptr || !errors->is_array() || errors->as_array().empty()) return std::nullopt;
  const bool lost = as_bool(find(*facts, "lost"));
  return result_of(
      lost ? Verdict::failed : Verdict::error,
      fmt::format("{}{}", lost ? "the GPU is lost: " : "", as_text(&errors->as_array().front())));
}

std::vector<CheckResult> judge(const JudgeInput& input) {
  std::vector<CheckResult> results;
  const Json* gpus = find(input.facts, "gpus");
  for (const std::string& check : input.checks) {
    if (auto node = node_judges().find(check); node != node_judges().end()) {
      auto trouble = reported_trouble(input.facts, "", check);
      CheckResult result = trouble ? *trouble : node->second(input);
      finish(result, input, check, "");
      results.push_back(std::move(result));
      continue;
    }
    if (gpus == nullptr || !gpus->is_object() || gpus->as_object().empty()) {
      auto trouble = reported_trouble(input.facts, "", check);
      CheckResult result =
          trouble ? *trouble : result_of(Verdict::inconclusive, "no GPU was looked at");
      finish(result, input, check, "");
      results.push_back(std::move(result));
      continue;
    }
    for (const auto& [uuid, gpu] : gpus->as_object()) {
      CheckResult result = judge_gpu(input, check, uuid, gpu);
      finish(result, input, check, uuid);
      results.push_back(std::move(result));
    }
  }
  return results;
}

}  // namespace lockstep::gpu

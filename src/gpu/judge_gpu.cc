#include <utility>

#include "gpu/judge.h"
#include "gpu/nvml_abi.h"

namespace lockstep::gpu {

namespace {

constexpr double memory_share = 0.9;
constexpr double inference_share = 0.95;
constexpr double copy_share = 0.9;
// Float against double over some hundred steps stays under 1e-5; a wrong sum does not.
constexpr double training_tolerance = 1e-3;

CheckResult no_data(std::string_view what) {
  return result_of(Verdict::inconclusive, fmt::format("no data: {}", what));
}

// Correctness is settled: is the speed as it was, or as the model must be?
CheckResult judge_speed(double is, std::string_view unit, std::optional<double> was, double share,
                        std::optional<double> floor) {
  CheckResult result;
  result.measured[unit] = is;
  if (was) {
    const double limit = *was * share;
    result.limit[unit] = limit;
    result.verdict = is < limit ? Verdict::failed : Verdict::passed;
    result.text = fmt::format("{:.1f} {}, {} than {:.1f} ({} x baseline)", is, unit,
                              is < limit ? "less" : "no less", limit, share);
    // The baseline may be of a GPU that was slow already.
    if (result.verdict == Verdict::failed || !floor || is >= *floor) return result;
  }
  if (floor) {
    result.limit[unit] = *floor;
    result.verdict = is < *floor ? Verdict::failed : Verdict::passed;
    result.text = fmt::format("{:.1f} {}, {} than {:.1f} (the model's floor)", is, unit,
                              is < *floor ? "less" : "no less", *floor);
    return result;
  }
  result.verdict = Verdict::inconclusive;
  result.text = fmt::format(
      "right, at {:.1f} {}; no baseline and no floor for this model say whether that is enough", is,
      unit);
  return result;
}

std::optional<double> growth(const Json* now, const Json* before, std::string_view key) {
  auto is = number_at(now, key);
  auto was = number_at(before, key);
  if (!is || !was) return std::nullopt;
  return *is - *was;
}

// Errors that came since `before`, by key, into `found`.
void note_growth(const Json* now, const Json* before, std::string_view key, std::string_view since,
                 std::string& found) {
  auto more = growth(now, before, key);
  if (!more || *more <= 0) return;
  if (!found.empty()) found += ", ";
  found += fmt::format("{} {} {}", *more, key, since);
}

std::string_view action_name(int64_t action) {
  switch (action) {
    case 1:
      return "reset the GPU";
    case 2:
      return "reboot the node";
    case 3:
      return "drain peer-to-peer work";
    case 4:
      return "drain and reset the GPU";
    default:
      return "act";
  }
}

}  // namespace

CheckResult judge_ecc(const GpuEvidence& evidence) {
  const Json* after = find(evidence.gpu, "after");
  if (auto trouble = trouble_in(after)) return *trouble;
  if (auto trouble = trouble_in(find(evidence.gpu, "before"))) return *trouble;
  const Json* ecc = after == nullptr ? nullptr : find(*after, "ecc");
  if (ecc == nullptr || !ecc->is_object()) return no_data("NVML gave no ECC counts");
  CheckResult result = result_of(Verdict::passed, "");
  result.measured = ecc->as_object();
  result.limit = {{"uncorrected_since_baseline", 0}};
  if (as_bool(find(*ecc, "remapped_rows", "failed")))
    result = result_of(Verdict::failed, "a row remap failed: the memory is worn out");
  else if (as_bool(find(*ecc, "remapped_rows", "pending")))
    result = result_of(Verdict::failed, "a row remap is pending: the GPU needs a reset");
  else if (int64_t action = as_integer(find(*ecc, "recovery_action")); action != 0)
    result = result_of(Verdict::failed, fmt::format("the driver asks to {}", action_name(action)));
  if (result.verdict == Verdict::failed) {
    result.measured = ecc->as_object();
    return result;
  }
  std::string grown;
  note_growth(ecc, find(evidence.gpu, "before", "ecc"), "uncorrected_volatile", "during the gate",
              grown);
  const Json* baseline =
      evidence.baseline == nullptr ? nullptr : find(*evidence.baseline, "after", "ecc");
  note_growth(ecc, baseline, "uncorrected_aggregate", "since the baseline", grown);
  if (!grown.empty()) {
    result.verdict = Verdict::failed;
    result.text = grown;
    return result;
  }
  auto corrected = number_at(ecc, "corrected_aggregate");
  auto aggregate = number_at(ecc, "uncorrected_aggregate");
  auto since_load = number_at(ecc, "uncorrected_volatile");
  if (!aggregate && !since_load) return no_data("ECC is off or not supported");
  if (baseline == nullptr && since_load.value_or(0) > 0) {
    result.verdict = Verdict::inconclusive;
    result.text = fmt::format(
        "{} uncorrected since the driver was loaded, and no baseline to compare with", *since_load);
    return result;
  }
  result.text =
      fmt::format("0 uncorrected {}; lifetime {} corrected, {} uncorrected",
                  baseline == nullptr ? "since the driver was loaded" : "since the baseline",
                  corrected.value_or(0), aggregate.value_or(0));
  return result;
}

CheckResult judge_training(const GpuEvidence& evidence) {
  const Json* facts = find(evidence.gpu, "training");
  if (facts == nullptr || !facts->is_object()) return no_data("no network was trained");
  auto deviation = number_at(facts, "largest_deviation");
  CheckResult result;
  result.measured = facts->as_object();
  result.limit = {{"largest_deviation", training_tolerance}};
  result.verdict = Verdict::failed;
  const auto differ = as_integer(find(*facts, "networks_that_differ"));
  const auto networks = as_integer(find(*facts, "networks"));
  if (!as_bool(find(*facts, "finite"))) {
    result.text = "the loss or a weight is not a number";
  } else if (!deviation || *deviation > training_tolerance) {
    result.text =
        fmt::format("the loss is off the CPU's by {:.2g} of the first loss, more than {:.0e}",
                    deviation.value_or(1), training_tolerance);
  } else if (differ > 0) {
    result.text = fmt::format("{} of {} networks that were trained alike came to other bits",
                              differ, 2 * networks);
  } else if (!as_bool(find(*facts, "same_in_both_runs"))) {
    result.text = "two runs came to different bits";
  } else {
    result.verdict = Verdict::passed;
    result.text = fmt::format(
        "loss {:.3g} to {:.3g} in {} steps, as the CPU's (off by {:.1g}); {} networks and 2 runs "
        "bit-identical",
        number_at(facts, "first_loss").value_or(0), number_at(facts, "last_loss").value_or(0),
        as_integer(find(*facts, "steps")), *deviation, networks);
  }
  return result;
}

CheckResult judge_inference(const GpuEvidence& evidence) {
  const Json* facts = find(evidence.gpu, "inference");
  auto rate = number_at(facts, "tflops");
  if (!rate) return no_data("no forward pass was made");
  CheckResult result;
  if (auto wrong = as_integer(find(*facts, "wrong_rows")); wrong > 0) {
    result = result_of(Verdict::failed, fmt::format("{} of {} rows of the result are wrong", wrong,
                                                    as_integer(find(*facts, "size"))));
    result.limit = {{"wrong_rows", 0}};
  } else {
    const Json* was =
        evidence.baseline == nullptr ? nullptr : find(*evidence.baseline, "inference");
    // Another version of the kernel is another speed.
    const bool comparable = was != nullptr &&
                            text_at(*was, "kernel") == text_at(*facts, "kernel") &&
                            number_at(was, "size") == number_at(facts, "size");
    // A floor is known of the best version that a model can run, on its usual size.
    const bool usual = as_bool(find(*facts, "usual"));
    result = judge_speed(
        *rate, "TFLOP/s", comparable ? number_at(was, "tflops") : std::nullopt, inference_share,
        evidence.model != nullptr && usual ? evidence.model->inference_tflops : std::nullopt);
  }
  result.measured = facts->as_object();
  return result;
}

CheckResult judge_memory(const GpuEvidence& evidence) {
  const Json* facts = find(evidence.gpu, "memory");
  auto rate = number_at(facts, "gigabytes_per_second");
  if (!rate) return no_data("no memory was tested");
  CheckResult result;
  if (auto wrong = as_integer(find(*facts, "wrong_cells")); wrong > 0) {
    result = result_of(Verdict::failed,
                       fmt::format("{} cells of 16 bytes came back wrong, the first at byte {}",
                                   wrong, as_integer(find(*facts, "first_wrong_byte"))));
    result.limit = {{"wrong_cells", 0}};
  } else {
    const Json* was = evidence.baseline == nullptr ? nullptr : find(*evidence.baseline, "memory");
    result =
        judge_speed(*rate, "GB/s", number_at(was, "gigabytes_per_second"), memory_share,
                    evidence.model == nullptr ? std::nullopt : evidence.model->memory_gigabytes);
    result.text += fmt::format("; {:.1f} GB without a wrong byte",
                               number_at(facts, "tested_bytes").value_or(0) / 1e9);
  }
  result.measured = facts->as_object();
  return result;
}

CheckResult judge_pcie(const GpuEvidence& evidence) {
  const Json* facts = find(evidence.gpu, "pcie");
  auto to_gpu = number_at(facts, "to_gpu_gigabytes_per_second");
  auto to_host = number_at(facts, "to_host_gigabytes_per_second");
  if (!to_gpu || !to_host) return no_data("nothing was copied");
  CheckResult result;
  if (auto wrong = as_integer(find(*facts, "wrong_cells")); wrong > 0) {
    result =
        result_of(Verdict::failed, fmt::format("{} cells of 16 bytes were copied wrong", wrong));
    result.limit = {{"wrong_cells", 0}};
  } else {
    const Json* was = evidence.baseline == nullptr ? nullptr : find(*evidence.baseline, "pcie");
    auto floor = evidence.model == nullptr ? std::nullopt : evidence.model->pcie_gigabytes;
    CheckResult up = judge_speed(*to_gpu, "GB/s to the GPU",
                                 number_at(was, "to_gpu_gigabytes_per_second"), copy_share, floor);
    CheckResult down =
        judge_speed(*to_host, "GB/s to the host", number_at(was, "to_host_gigabytes_per_second"),
                    copy_share, floor);
    result = down.verdict > up.verdict ? down : up;
    if (up.verdict == Verdict::passed && down.verdict == Verdict::passed)
      result.text = up.text + "; " + down.text;
    for (const CheckResult* way : {&up, &down}) {
      for (const JsonMember& limit : std::as_const(way->limit)) result.limit.insert(limit);
    }
  }
  result.measured = facts->as_object();
  return result;
}

namespace {

struct Links {
  int active = 0;
  std::string inactive;  // their numbers
  std::string grown;     // errors
};

// The link of that number in another snapshot.
const Json* same_link(const Json* nvlink, int64_t number) {
  const Json* list = nvlink == nullptr ? nullptr : find(*nvlink, "links");
  if (list == nullptr || !list->is_array()) return nullptr;
  for (const Json& link : list->as_array()) {
    if (as_integer(find(link, "link")) == number) return &link;
  }
  return nullptr;
}

Links look_at_links(const JsonArray& links, const Json* before, const Json* baseline) {
  Links seen;
  for (const Json& link : links) {
    const auto number = as_integer(find(link, "link"));
    if (as_bool(find(link, "active"))) {
      ++seen.active;
    } else {
      seen.inactive += fmt::format("{}{}", seen.inactive.empty() ? "" : ", ", number);
    }
    for (const Json* then : {before, baseline}) {
      const Json* old = same_link(then, number);
      const std::string since = fmt::format("on link {} since the {}", number,
                                            then == baseline ? "baseline" : "gate began");
      for (const char* key : {"replay_errors", "recovery_errors", "crc_errors"})
        note_growth(&link, old, key, since, seen.grown);
    }
  }
  return seen;
}

std::optional<int> expected_links(const GpuEvidence& evidence, const Json* baseline) {
  const Json* list = baseline == nullptr ? nullptr : find(*baseline, "links");
  if (list != nullptr && list->is_array())
    return look_at_links(list->as_array(), nullptr, nullptr).active;
  return evidence.model == nullptr ? std::nullopt : evidence.model->nvlinks;
}

// What is wrong with the fabric; empty when nothing is.
std::string fabric_trouble(const Json* fabric, const Json* baseline) {
  if (fabric == nullptr) return {};
  const auto state = as_integer(find(*fabric, "state"));
  const auto status = as_integer(find(*fabric, "status"));
  if (state != nvml_abi::fabric_completed || status != 0)
    return fmt::format("the fabric is not up: state {}, status {}", state, status);
  const Json* was = baseline == nullptr ? nullptr : find(*baseline, "fabric");
  if (was != nullptr && number_at(was, "clique") != number_at(fabric, "clique"))
    return "the GPU is in another clique than in the baseline";
  return {};
}

// NVML knows no link at all: a board without, or a GPU that was given to a machine alone.
CheckResult judge_no_links(const GpuEvidence& evidence, std::optional<int> expected,
                           bool has_baseline) {
  if (expected.value_or(0) > 0 && (has_baseline || evidence.gpus > 1))
    return result_of(Verdict::failed, fmt::format("0 of {} links are active", *expected));
  return result_of(
      evidence.asked_by_name && !has_baseline ? Verdict::inconclusive : Verdict::skipped,
      "NVML knows no NVLink on this GPU");
}

}  // namespace

CheckResult judge_nvlink(const GpuEvidence& evidence) {
  const Json* after = find(evidence.gpu, "after");
  if (auto trouble = trouble_in(after)) return *trouble;
  const Json* nvlink = after == nullptr ? nullptr : find(*after, "nvlink");
  const Json* links = nvlink == nullptr ? nullptr : find(*nvlink, "links");
  if (links == nullptr || !links->is_array()) return no_data("NVML gave no links");
  const Json* baseline =
      evidence.baseline == nullptr ? nullptr : find(*evidence.baseline, "after", "nvlink");
  const std::optional<int> expected = expected_links(evidence, baseline);
  if (links->as_array().empty()) return judge_no_links(evidence, expected, baseline != nullptr);
  const Links seen =
      look_at_links(links->as_array(), find(evidence.gpu, "before", "nvlink"), baseline);
  CheckResult result;
  result.measured = {{"active_links", seen.active}, {"links", links->as_array().size()}};
  if (expected) result.limit["active_links"] = *expected;
  const Json* fabric = find(*nvlink, "fabric");
  result.verdict = Verdict::failed;
  if (expected && seen.active < *expected) {
    result.text =
        fmt::format("{} of {} links are active{}", seen.active, *expected,
                    seen.inactive.empty() ? "" : fmt::format(" (inactive: {})", seen.inactive));
  } else if (!seen.grown.empty()) {
    result.text = seen.grown;
  } else if (std::string trouble = fabric_trouble(fabric, baseline); !trouble.empty()) {
    result.text = trouble;
  } else if (!expected && !seen.inactive.empty()) {
    result.verdict = Verdict::inconclusive;
    result.text =
        fmt::format("{} links are active, inactive: {}; no baseline says how many should be",
                    seen.active, seen.inactive);
  } else {
    result.verdict = Verdict::passed;
    result.text =
        fmt::format("{} links active{}", seen.active, fabric != nullptr ? ", fabric up" : "");
  }
  return result;
}

CheckResult judge_throttle(const GpuEvidence& evidence) {
  const Json* clocks = find(evidence.gpu, "clocks");
  if (auto trouble = trouble_in(clocks)) return *trouble;
  if (as_integer(clocks == nullptr ? nullptr : find(*clocks, "samples")) == 0)
    return no_data("no clocks were read");
  CheckResult result;
  result.measured = clocks->as_object();
  result.limit = {{"hardware_slowdown", false}};
  const auto reasons = static_cast<unsigned long long>(as_integer(find(*clocks, "reasons")));
  std::string named;
  const std::pair<unsigned long long, const char*> names[] = {
      {nvml_abi::hardware_slowdown, "hardware slowdown"},
      {nvml_abi::hardware_thermal, "hardware thermal slowdown"},
      {nvml_abi::hardware_power_brake, "hardware power brake"}};
  for (const auto& [bit, name] : names) {
    if ((reasons & bit) != 0) named += fmt::format("{}{}", named.empty() ? "" : ", ", name);
  }
  const auto highest = number_at(clocks, "highest_clock_mhz").value_or(0);
  if (!named.empty()) {
    result.verdict = Verdict::failed;
    result.text = fmt::format("{} while the checks ran, at up to {} C", named,
                              number_at(clocks, "highest_temperature").value_or(0));
  } else {
    result.text = fmt::format("no slowdown by the hardware in {} samples; up to {} MHz, {} C",
                              as_integer(find(*clocks, "samples")), highest,
                              number_at(clocks, "highest_temperature").value_or(0));
  }
  return result;
}

}  // namespace lockstep::gpu

#include <set>

#include "base/strings.h"
#include "gpu/judge.h"

namespace lockstep::gpu {

namespace {

constexpr double peer_share = 0.9;

CheckResult failed(std::string text) { return result_of(Verdict::failed, std::move(text)); }

std::set<std::string> keys_of(const Json* object) {
  std::set<std::string> keys;
  if (object == nullptr || !object->is_object()) return keys;
  for (const auto& member : object->as_object()) keys.emplace(member.key());
  return keys;
}

std::string difference(const std::set<std::string>& a, const std::set<std::string>& b) {
  std::vector<std::string> only;
  for (const std::string& key : a) {
    if (b.count(key) == 0) only.push_back(key);
  }
  return join(only, ", ");
}

// The GPUs of the baseline and those of now, all of the node's.
std::optional<CheckResult> other_gpus(const JudgeInput& input) {
  if (input.baseline == nullptr) return std::nullopt;
  const std::set<std::string> was = keys_of(find(*input.baseline, "all_gpus"));
  const std::set<std::string> is = keys_of(find(input.facts, "all_gpus"));
  if (was == is) return std::nullopt;
  const std::string gone = difference(was, is);
  const std::string come = difference(is, was);
  return failed(fmt::format("{} GPUs, {} in the baseline{}{}", is.size(), was.size(),
                            gone.empty() ? "" : "; gone: " + gone,
                            come.empty() ? "" : "; new: " + come));
}

}  // namespace

CheckResult judge_driver(const JudgeInput& input) {
  const std::string library(text_at(input.facts, "node", "driver_version"));
  const std::string module(text_at(input.facts, "host", "module_version"));
  CheckResult result;
  if (const Json* start = find(input.facts, "start")) {
    result = failed(fmt::format("NVML does not open: {}{}", as_text(start),
                                module.empty() ? "" : "; the loaded kernel module is " + module));
  } else if (!library.empty() && !module.empty() && library != module) {
    result = failed(fmt::format("the library is of driver {}, the loaded kernel module of {}",
                                library, module));
  } else if (!input.expect_driver.empty() && library != input.expect_driver) {
    result = failed(fmt::format("driver {}, expected {}", library.empty() ? "unknown" : library,
                                input.expect_driver));
  } else if (auto others = other_gpus(input)) {
    result = *others;
  } else {
    result = result_of(Verdict::passed, "");
  }
  result.measured = {{"library", library}, {"kernel_module", module}};
  if (!input.expect_driver.empty()) result.limit["driver"] = input.expect_driver;
  if (result.verdict != Verdict::passed) return result;

  if (const Json* gpus = find(input.facts, "gpus"); gpus != nullptr && gpus->is_object()) {
    for (const auto& [uuid, gpu] : gpus->as_object()) {
      auto trouble = trouble_in(find(gpu, "identity"));
      if (!trouble) continue;
      trouble->text = fmt::format("{}: {}", std::string_view(uuid), trouble->text);
      return *trouble;
    }
  }
  const Json* missing = find(input.facts, "host", "missing_nodes");
  if (missing != nullptr && missing->is_array() && !missing->as_array().empty()) {
    std::vector<std::string> names;
    for (const Json& node : missing->as_array()) names.emplace_back(as_text(&node));
    result.verdict = Verdict::failed;
    result.text = fmt::format("device nodes are missing: {}", join(names, ", "));
    return result;
  }
  const size_t count = keys_of(find(input.facts, "all_gpus")).size();
  if (module.empty()) {
    result.verdict = Verdict::inconclusive;
    result.text = fmt::format(
        "driver {}, {} GPUs; the host does not say which kernel module is loaded", library, count);
  } else {
    result.text =
        fmt::format("driver {}, kernel module the same, {} GPU{}{}", library, count,
                    count == 1 ? "" : "s", input.baseline == nullptr ? "" : " as in the baseline");
  }
  return result;
}

CheckResult judge_peer(const JudgeInput& input) {
  const Json* pairs = find(input.facts, "peers");
  if (pairs == nullptr || !pairs->is_array())
    return result_of(input.asked_by_name ? Verdict::inconclusive : Verdict::skipped,
                     "one GPU: there is no pair");
  CheckResult result;
  double slowest = 0;
  size_t compared = 0;
  for (const Json& pair : pairs->as_array()) {
    const std::string name = fmt::format("{} to {}", text_at(pair, "from"), text_at(pair, "to"));
    if (auto wrong = as_integer(find(pair, "wrong_cells")); wrong > 0)
      return failed(fmt::format("{}: {} cells of 16 bytes were copied wrong", name, wrong));
    const double is = number_at(&pair, "gigabytes_per_second").value_or(0);
    slowest = slowest == 0 ? is : std::min(slowest, is);
    const Json* before = input.baseline == nullptr ? nullptr : find(*input.baseline, "peers");
    if (before == nullptr || !before->is_array()) continue;
    for (const Json& old : before->as_array()) {
      if (text_at(old, "from") != text_at(pair, "from") ||
          text_at(old, "to") != text_at(pair, "to"))
        continue;
      const double limit = number_at(&old, "gigabytes_per_second").value_or(0) * peer_share;
      ++compared;
      if (is < limit)
        return failed(fmt::format("{}: {:.1f} GB/s, less than {:.1f} ({} x baseline)", name, is,
                                  limit, peer_share));
    }
  }
  const size_t count = pairs->as_array().size();
  result.measured = {{"pairs", count}, {"slowest_gigabytes_per_second", slowest}};
  result.verdict = compared == count ? Verdict::passed : Verdict::inconclusive;
  result.text = fmt::format("{} pairs right, the slowest at {:.1f} GB/s{}", count, slowest,
                            compared == count ? ", none under 0.9 x baseline"
                                              : "; no baseline says whether that is enough");
  return result;
}

namespace {

struct PortJudgement {
  std::string failed;
  std::string unclear;
};

bool is_up(const Json& port) {
  if (as_bool(find(port, "efa"))) return as_bool(find(port, "carrier"), true);
  return text_at(port, "state") == "ACTIVE" && text_at(port, "phys_state") == "LinkUp";
}

std::string state_of(const Json& port) {
  if (as_bool(find(port, "efa"))) return is_up(port) ? "up" : "without carrier";
  return fmt::format("{}/{}", text_at(port, "state"), text_at(port, "phys_state"));
}

PortJudgement judge_port(std::string_view name, const Json& now, const Json* gate_began,
                         const Json* baseline) {
  PortJudgement judged;
  const bool expected = baseline != nullptr && is_up(*baseline);
  if (!is_up(now)) {
    (expected ? judged.failed : judged.unclear) = fmt::format("{} is {}", name, state_of(now));
    return judged;
  }
  const double rate = number_at(&now, "gigabits_per_second").value_or(0);
  const double was = number_at(baseline, "gigabits_per_second").value_or(0);
  if (rate < was)
    judged.failed = fmt::format("{} runs at {} Gb/s, {} in the baseline", name, rate, was);
  for (const Json* then : {gate_began, baseline}) {
    auto more =
        number_at(&now, "link_downed").value_or(0) - number_at(then, "link_downed").value_or(0);
    if (then != nullptr && find(*then, "link_downed") != nullptr && more > 0)
      judged.failed = fmt::format("{}: the link went down {} times since the {}", name, more,
                                  then == baseline ? "baseline" : "gate began");
  }
  const Json* there = find(now, "uverbs_there");
  if (there != nullptr && !as_bool(there))
    judged.failed = fmt::format("{}: /dev/infiniband/{} is missing", name, text_at(now, "uverbs"));
  return judged;
}

}  // namespace

CheckResult judge_rdma(const JudgeInput& input) {
  const Json* ports = find(input.facts, "rdma", "after");
  const Json* before = find(input.facts, "rdma", "before");
  const Json* baseline =
      input.baseline == nullptr ? nullptr : find(*input.baseline, "rdma", "after");
  const std::set<std::string> is = keys_of(ports);
  if (const std::string gone = difference(keys_of(baseline), is); !gone.empty())
    return failed(fmt::format("ports of the baseline are gone: {}", gone));
  if (is.empty()) {
    return result_of(
        input.asked_by_name && baseline == nullptr ? Verdict::inconclusive : Verdict::skipped,
        "no RDMA device here");
  }
  CheckResult result;
  std::string unclear;
  size_t up = 0;
  double link_downed = 0;  // of all ports: what a rollout keeps of them
  for (const auto& [name, port] : ports->as_object()) {
    link_downed += number_at(&port, "link_downed").value_or(0);
    PortJudgement judged = judge_port(name, port, before == nullptr ? nullptr : find(*before, name),
                                      baseline == nullptr ? nullptr : find(*baseline, name));
    if (!judged.failed.empty()) {
      result = failed(judged.failed);
      result.measured = ports->as_object();
      return result;
    }
    if (judged.unclear.empty())
      ++up;
    else
      unclear += (unclear.empty() ? "" : ", ") + judged.unclear;
  }
  result.measured = ports->as_object();
  result.measured["ports_up"] = up;
  result.measured["link_downed"] = link_downed;
  // A port that was down before is not this upgrade's doing.
  if (!unclear.empty() && baseline == nullptr) {
    result.verdict = Verdict::inconclusive;
    result.text = fmt::format("{}; no baseline says whether it should be up", unclear);
  } else {
    result.text = fmt::format("{} of {} ports up{}", up, is.size(),
                              baseline == nullptr ? "" : ", none worse than in the baseline");
  }
  return result;
}

CheckResult judge_xid(const JudgeInput& input) {
  const Json* sources = find(input.facts, "xid_sources");
  if (sources == nullptr || !sources->is_array() || sources->as_array().empty())
    return result_of(Verdict::inconclusive,
                     "no data: neither the kernel log nor NVML's events can be read");
  CheckResult result;
  std::vector<std::string> names;
  for (const Json& source : sources->as_array()) names.emplace_back(as_text(&source));
  const Json* list = find(input.facts, "xids");
  size_t harmless = 0;
  if (list != nullptr && list->is_array()) {
    for (const Json& xid : list->as_array()) {
      const auto code = static_cast<int>(as_integer(find(xid, "code")));
      const XidMeaning meaning = input.xids.meaning(code);
      if (meaning.kind != XidClass::fatal) {
        ++harmless;
        continue;
      }
      result = failed(fmt::format("XID {} ({}) on {}", code, meaning.about, text_at(xid, "pci")));
      result.measured = {{"xids", *list}};
      return result;
    }
    result.measured = {{"xids", *list}};
  }
  result.text = fmt::format("no fatal XID while the gate ran{} ({})",
                            harmless == 0 ? "" : fmt::format(", {} of an application's", harmless),
                            join(names, ", "));
  return result;
}

}  // namespace lockstep::gpu

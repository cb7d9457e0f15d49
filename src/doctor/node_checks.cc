#include "doctor/node_checks.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"

namespace lockstep::doctor {

std::optional<std::string> version_of_library(std::string_view file_name) {
  size_t at = file_name.find(".so.");
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view version = file_name.substr(at + 4);
  auto dots = std::count(version.begin(), version.end(), '.');
  bool is_version =
      !version.empty() && version.find_first_not_of("0123456789.") == std::string_view::npos;
  if (!is_version || dots == 0) return std::nullopt;
  return std::string(version);
}

Check check_libraries(const NodeFacts& facts) {
  const std::string name = "DriverLibraries";
  if (!facts.module_version) {
    if (facts.libraries.empty()) return skipped(name, "this machine has no NVIDIA driver");
    return {name,
            Verdict::wrong,
            fmt::format("libraries of driver {} are installed, and no kernel module is loaded",
                        facts.libraries.front().version),
            {facts.libraries.front().path},
            "kubectl -n gpu-operator logs -l app=nvidia-driver-daemonset -c nvidia-driver-ctr"};
  }
  Check check{name, Verdict::wrong, ""};
  for (const LibraryFile& library : facts.libraries) {
    if (library.version != *facts.module_version) {
      check.evidence.push_back(fmt::format("{} has {}", library.path, library.version));
    }
  }
  if (check.evidence.empty()) {
    return fine(
        name, fmt::format("module and {} have version {}",
                          counted(facts.libraries.size(), "library file"), *facts.module_version));
  }
  check.text =
      fmt::format("module {} is loaded beside libraries of another version: NVML and CUDA fail",
                  *facts.module_version);
  check.fix =
      "kubectl -n gpu-operator delete pod -l app=nvidia-driver-daemonset "
      "--field-selector spec.nodeName=$(hostname)";
  return check;
}

Check check_library_users(const NodeFacts& facts) {
  const std::string name = "StaleLibraries";
  if (!facts.module_version) return skipped(name, "no kernel module is loaded");
  Check check{name, Verdict::wrong, ""};
  std::vector<std::string> pids;
  for (const LibraryUser& user : facts.users) {
    bool stale = user.deleted || (!user.version.empty() && user.version != *facts.module_version);
    if (!stale) continue;
    check.evidence.push_back(fmt::format("{} (process {}) has {}{} open", user.program, user.pid,
                                         user.library,
                                         user.deleted ? ", which no longer exists," : ""));
    std::string pid = std::to_string(user.pid);
    if (std::find(pids.begin(), pids.end(), pid) == pids.end()) pids.push_back(pid);
  }
  if (check.evidence.empty()) {
    return fine(name, fmt::format("{} the driver's libraries, none a previous version",
                                  facts.users.empty() ? "no process uses" : "processes use"));
  }
  check.text =
      fmt::format("{} with NVML or CUDA of the previous driver: restart {}",
                  pids.size() == 1 ? "a process" : fmt::format("{} processes", pids.size()),
                  pids.size() == 1 ? "it" : "them");
  check.fix = "kill " + join(pids, " ") + "   # or delete their pods: kubectl restarts them";
  return check;
}

Check check_cdi_files(const NodeFacts& facts) {
  const std::string name = "CdiFiles";
  std::set<std::string> known;
  if (facts.checkpoint) {
    for (const CheckpointClaim& claim : *facts.checkpoint) known.insert(claim.uid);
  }
  Check check{name, Verdict::wrong, ""};
  std::vector<std::string> fixes;
  for (const CdiFile& file : facts.cdi_files) {
    if (!file.claim_uid.empty() && !known.contains(file.claim_uid)) {
      check.evidence.push_back(file.path + ": of a claim that is not prepared");
      fixes.push_back("rm " + file.path);
    } else if (!file.missing.empty()) {
      check.evidence.push_back(fmt::format("{} names {}, which {} missing", file.path,
                                           name_some(file.missing, 3),
                                           file.missing.size() == 1 ? "is" : "are"));
      fixes.push_back(file.claim_uid.empty() ? "nvidia-ctk cdi generate --output=" + file.path
                                             : "delete the pod of claim " + file.claim_uid);
    }
  }
  if (check.evidence.empty()) {
    return fine(name,
                fmt::format("{}, none left over", counted(facts.cdi_files.size(), "CDI file")));
  }
  check.text =
      fmt::format("{} left over or from the previous driver: containers that name it do not start",
                  counted(check.evidence.size(), "CDI file"));
  check.fix = join(fixes, "; ");
  return check;
}

Check check_checkpoint(const NodeFacts& facts) {
  const std::string name = "Checkpoint";
  if (!facts.checkpoint && facts.checkpoint_problems.empty()) {
    return skipped(name, "the DRA plugin has no checkpoint here: " + facts.checkpoint_path);
  }
  Check check{name, Verdict::wrong, "", facts.checkpoint_problems};
  std::set<std::string> files;
  for (const CdiFile& file : facts.cdi_files) {
    if (!file.claim_uid.empty()) files.insert(file.claim_uid);
  }
  std::vector<CheckpointClaim> claims = facts.checkpoint.value_or(std::vector<CheckpointClaim>());
  for (const CheckpointClaim& claim : claims) {
    if (claim.prepared && !files.contains(claim.uid)) {
      check.evidence.push_back(
          fmt::format("claim {} ({}) is prepared and has no CDI file", claim.name, claim.uid));
    }
  }
  if (facts.from_before_boot > 0) {
    check.evidence.push_back(
        fmt::format("{} of claims from before the machine started", facts.from_before_boot));
  }
  if (check.evidence.empty()) {
    return fine(name, fmt::format("{}, all valid", counted(claims.size(), "prepared claim")));
  }
  check.text = fmt::format("{} of {} invalid", counted(check.evidence.size(), "thing"),
                           facts.checkpoint_path);
  check.fix =
      "kubectl delete pod -A -l app.kubernetes.io/component=dra-plugin "
      "--field-selector spec.nodeName=$(hostname)   # the plugin repairs it when it starts";
  return check;
}

std::vector<Check> examine_node(const NodeFacts& facts) {
  return {check_libraries(facts), check_library_users(facts), check_cdi_files(facts),
          check_checkpoint(facts)};
}

}  // namespace lockstep::doctor

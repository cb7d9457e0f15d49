#include "cli/matrix_apply.h"

#include <fmt/format.h>

#include "base/strings.h"
#include "fleet/keys.h"
#include "kube/sync_api.h"

namespace lockstep::cli {

namespace {

Result<std::string> only_name(kube::SyncApi& api, const ResourceType& type) {
  LOCKSTEP_TRY(const auto found, api.list(kube::list(type)));
  std::vector<std::string> names;
  for (const auto& item : found.items) names.emplace_back(text_at(*item, "metadata", "name"));
  if (names.size() == 1) return names.front();
  if (names.empty()) return failf(ErrorKind::not_found, "the cluster has no {}", type.kind);
  return failf(ErrorKind::invalid, "the cluster has the {} objects {}: name one with --apply-to",
               type.kind, join(names, ", "));
}

}  // namespace

Result<ApplyTarget> parse_apply_target(const std::string& text, rollout::Slot slot) {
  const size_t slash = text.find('/');
  const std::string kind = lower(text.substr(0, slash));
  ApplyTarget target;
  if (slash != std::string::npos) target.name = text.substr(slash + 1);
  target.is_cluster_policy = kind.empty() || kind == "clusterpolicy";
  if ((!target.is_cluster_policy && kind != "nvidiadriver") ||
      (slash != std::string::npos && target.name.empty())) {
    return fail(ErrorKind::invalid,
                fmt::format("\"{}\" must be clusterpolicy/NAME or nvidiadriver/NAME", text),
                "--apply-to");
  }
  if (slot == rollout::Slot::canary && (target.is_cluster_policy || target.name.empty())) {
    return fail(ErrorKind::invalid,
                "a ClusterPolicy has one driver version for all nodes: a canary is applied to an "
                "NVIDIADriver with a node selector, --apply-to nvidiadriver/NAME",
                "--apply-to");
  }
  return target;
}

Result<std::string> apply_driver(const ClusterFlags& cluster, const ApplyTarget& target,
                                 const std::string& version, bool dry_run) {
  LOCKSTEP_TRY(const auto session, ClusterSession::open(cluster));
  kube::SyncApi api(*session->api, session->loop);
  const ResourceType& type =
      target.is_cluster_policy ? fleet::cluster_policies : fleet::nvidia_drivers;
  std::string name = target.name;
  if (name.empty()) {
    LOCKSTEP_TRY(name, only_name(api, type));
  }
  std::string who = fmt::format("{} {}", type.kind, name);
  const JsonObject driver = {{"version", version}};
  kube::Request request = kube::patch(
      type, {"", name}, kube::PatchType::merge,
      JsonObject{{"spec", target.is_cluster_policy ? JsonObject{{"driver", driver}} : driver}});
  request.with("fieldManager", "lockstep");
  if (dry_run) request.with("dryRun", "All");
  if (auto reply = kube::document_of(api.call(std::move(request))); !reply) {
    return fail(reply.error().at(who));
  }
  return who;
}

}  // namespace lockstep::cli

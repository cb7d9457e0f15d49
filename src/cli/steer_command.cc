#include "cli/steer_command.h"

#include <cstdio>
#include <optional>

#include <fmt/format.h>

#include "base/strings.h"
#include "cli/exit_codes.h"
#include "cli/key_domain.h"
#include "cli/output.h"
#include "fleet/node_view.h"
#include "kube/sync_api.h"
#include "objects/decode.h"
#include "rollout/command_rules.h"
#include "rollout/conduct.h"

namespace lockstep::cli {

namespace {

kube::Request merge(const ResourceType& type, const ObjectKey& key, Json patch, bool dry_run) {
  kube::Request request = kube::patch(type, key, kube::PatchType::merge, std::move(patch));
  request.with("fieldManager", "lockstep");
  if (dry_run) request.with("dryRun", "All");
  return request;
}

struct PolicyObject {
  ResourceType type;
  ObjectKey key;
};

// The objects that carry policies: all, or the one of a pool.
Result<std::vector<PolicyObject>> find_policies(kube::SyncApi& api, const std::string& pool) {
  std::vector<PolicyObject> found;
  for (const auto* type : {&fleet::cluster_policies, &fleet::nvidia_drivers}) {
    auto items = api.list(kube::list(*type));
    if (!items) {
      if (items.error().kind == ErrorKind::not_found) continue;
      return fail(items.error());
    }
    for (const auto& item : items->items) {
      std::string name(text_at(*item, "metadata", "name"));
      bool wanted = pool.empty() || (type == &fleet::nvidia_drivers && name == pool);
      if (wanted) found.push_back({*type, {"", name}});
    }
  }
  if (!found.empty()) return found;
  if (!pool.empty()) return fail(ErrorKind::not_found, "there is no such NVIDIADriver", pool);
  return fail(ErrorKind::not_found,
              "the cluster has no ClusterPolicy and no NVIDIADriver: there is nothing to pause");
}

std::string_view verb_of(NodeSteering what) {
  return what == NodeSteering::retry ? "retry" : what == NodeSteering::skip ? "skip" : "unskip";
}

Error no_such_node(kube::SyncApi& api, const std::string& name) {
  std::vector<std::string> names;
  if (auto nodes = api.list(kube::list(resource::nodes))) {
    for (const auto& node : nodes->items) names.emplace_back(text_at(*node, "metadata", "name"));
  }
  auto near = nearest(name, names);
  return {ErrorKind::not_found,
          near ? fmt::format("there is no such node; did you mean {}?", *near)
               : "there is no such node",
          "node " + name};
}

}  // namespace

int run_pause(const PauseFlags& flags) {
  ClusterFlags cluster = flags.cluster;
  auto session = open_in_key_domain(cluster, KeyUse::write);
  if (!session) return report(session.error());
  kube::SyncApi api(*(*session)->api, (*session)->loop);
  auto policies = find_policies(api, flags.pool);
  if (!policies) return report(policies.error());
  auto user = identity_in(api);
  if (!user) return report(user.error());
  for (const auto& policy : *policies) {
    Json value = nullptr;
    if (!flags.resume) {
      value = fmt::format("{} by {}{}{}", format_rfc3339((*session)->loop.now()), user->name,
                          flags.reason.empty() ? "" : ": ", flags.reason);
    }
    auto reply = kube::document_of(api.call(merge(
        policy.type, policy.key,
        JsonObject{{"metadata",
                    JsonObject{{"annotations", JsonObject{{fleet::paused_annotation, value},
                                                          {rollout::steered_annotation,
                                                           rollout::steering_line(
                                                               (*session)->loop.now(),
                                                               flags.resume ? "resume" : "pause",
                                                               user->name, flags.reason)}}}}}},
        flags.dry_run)));
    if (!reply) return report(reply.error().at(policy.type.kind + " " + policy.key.name));
    print_text(
        fmt::format("{} {} {}{}\n", policy.type.kind, policy.key.name,
                    flags.resume ? "resumed" : "paused: no new node starts, nodes in flight finish",
                    flags.dry_run ? " (dry run)" : ""));
  }
  return ExitCode::ok;
}

int run_steer(const SteerFlags& flags) {
  ClusterFlags cluster = flags.cluster;
  auto session = open_in_key_domain(cluster, KeyUse::write);
  if (!session) return report(session.error());
  kube::SyncApi api(*(*session)->api, (*session)->loop);
  fleet::Keys keys(cluster.key_domain);
  DecodeContext context;
  // All are checked before one is changed; a name that no node has comes first.
  std::optional<Error> refused;
  for (const auto& name : flags.nodes) {
    auto document = api.get(resource::nodes, {"", name});
    if (!document && document.error().kind == ErrorKind::not_found) {
      return report(no_such_node(api, name));
    }
    if (!document) return report(document.error().at("node " + name));
    auto node = decode_object<Node>(**document, context);
    if (!node) return report(node.error().at("node " + name));
    const bool retries = flags.what == NodeSteering::retry;
    if (retries && flags.force) continue;
    std::string refusal = rollout::node_refusal_of(verb_of(flags.what), *node, keys);
    if (refusal.empty()) continue;
    if (refused) continue;
    refused = retries
                  ? Error{ErrorKind::invalid, refusal + " (--force does it anyway)", "node " + name}
                  : Error{ErrorKind::conflict, refusal, "node " + name};
  }
  if (refused) return report(*refused);
  auto user = identity_in(api);
  if (!user) return report(user.error());
  for (const auto& name : flags.nodes) {
    std::string key = flags.what == NodeSteering::retry ? keys.state : keys.skip;
    Json value = nullptr;
    if (flags.what == NodeSteering::retry) value = Json(to_string(fleet::State::required));
    if (flags.what == NodeSteering::skip) value = "true";
    JsonObject annotations{{rollout::steered_annotation,
                            rollout::steering_line((*session)->loop.now(), verb_of(flags.what),
                                                   user->name, flags.reason)}};
    // From now on the label is the user's, also where a rollout held the node by it.
    if (flags.what == NodeSteering::skip) annotations[rollout::kept_back_annotation] = nullptr;
    JsonObject metadata{{"labels", JsonObject{{key, value}}},
                        {"annotations", std::move(annotations)}};
    // Whichever of the two it was.
    if (flags.what == NodeSteering::unskip) {
      metadata["labels"].as_object()[keys.users_skip] = nullptr;
    }
    auto reply = kube::document_of(
        api.call(merge(resource::nodes, {"", name}, JsonObject{{"metadata", std::move(metadata)}},
                       flags.dry_run)));
    if (!reply) return report(reply.error().at("node " + name));
    std::string_view what = flags.what == NodeSteering::retry  ? "will be tried again"
                            : flags.what == NodeSteering::skip ? "will be skipped"
                                                               : "is no longer skipped";
    print_text(fmt::format("node {} {}{}\n", name, what, flags.dry_run ? " (dry run)" : ""));
  }
  return ExitCode::ok;
}

}  // namespace lockstep::cli

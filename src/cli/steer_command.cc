#include "cli/steer_command.h"

#include <cstdio>
#include <optional>

#include <fmt/format.h>

#include "base/strings.h"
#include "cli/exit_codes.h"
#include "cli/key_domain.h"
#include "cli/output.h"
#include "kube/sync_api.h"
#include "operate/action.h"

namespace lockstep::cli {

namespace {

// The objects that carry policies: all, or the one of a pool.
Result<std::vector<operate::PolicyObject>> find_policies(kube::SyncApi& api,
                                                         const std::string& pool) {
  std::vector<operate::PolicyObject> found;
  for (const auto* type : {&fleet::cluster_policies, &fleet::nvidia_drivers}) {
    auto items = api.list(kube::list(*type));
    if (!items) {
      if (items.error().kind == ErrorKind::not_found) continue;
      return fail(items.error());
    }
    for (const auto& item : items->items) {
      std::string name(text_at(*item, "metadata", "name"));
      bool wanted = pool.empty() || (type == &fleet::nvidia_drivers && name == pool);
      if (wanted) found.push_back({*type, name});
    }
  }
  if (!found.empty()) return found;
  if (!pool.empty()) return fail(ErrorKind::not_found, "unknown NVIDIADriver", pool);
  return fail(ErrorKind::not_found,
              "the cluster has no ClusterPolicy or NVIDIADriver: nothing to pause");
}

std::string_view verb_of(NodeSteering what) {
  return what == NodeSteering::retry ? "retry" : what == NodeSteering::skip ? "skip" : "unskip";
}

Error no_such_node(kube::SyncApi& api, const std::string& name) {
  std::vector<std::string> names;
  if (auto nodes = api.list(kube::list(resource::nodes))) {
    for (const auto& node : nodes->items) names.emplace_back(text_at(*node, "metadata", "name"));
  }
  return {ErrorKind::not_found, unknown_word("node", name, names), {}};
}

Result<void> write(kube::SyncApi& api, kube::Request request, bool dry_run) {
  if (dry_run) request.with("dryRun", "All");
  auto reply = kube::document_of(api.call(std::move(request)));
  if (!reply) return fail(reply.error());
  return {};
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
  const operate::Action action{flags.resume ? "resume" : "pause", operate::ActionTarget::pool,
                               flags.pool, "", flags.reason};
  auto requests = operate::requests_of(action, *user, (*session)->loop.now(),
                                       fleet::Keys(cluster.key_domain), *policies, nullptr);
  if (!requests) return report(requests.error());
  for (kube::Request& request : *requests) {
    const std::string object = request.type.kind + " " + request.name;
    if (auto written = write(api, std::move(request), flags.dry_run); !written) {
      return report(written.error().at(object));
    }
    print_text(
        fmt::format("{} {}{}\n", object,
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
  auto user = identity_in(api);
  if (!user) return report(user.error());
  const bool retries = flags.what == NodeSteering::retry;
  // All are checked before one is changed; a name that no node has comes first.
  std::vector<kube::Request> requests;
  std::optional<Error> refused;
  for (const auto& name : flags.nodes) {
    auto document = api.get(resource::nodes, {"", name});
    if (!document && document.error().kind == ErrorKind::not_found) {
      return report(no_such_node(api, name));
    }
    if (!document) return report(document.error().at("node " + name));
    const operate::Action action{std::string(verb_of(flags.what)),
                                 operate::ActionTarget::node,
                                 name,
                                 "",
                                 flags.reason,
                                 retries && flags.force};
    auto made = operate::requests_of(action, *user, (*session)->loop.now(), keys, {}, **document);
    if (made) {
      requests.push_back(std::move(made->front()));
      continue;
    }
    if (made.error().kind != ErrorKind::conflict) return report(made.error().at("node " + name));
    if (refused) continue;
    refused = made.error();
    if (!retries) continue;
    refused->kind = ErrorKind::invalid;
    refused->message += " (--force does it anyway)";
  }
  if (refused) return report(*refused);
  for (kube::Request& request : requests) {
    const std::string name = request.name;
    if (auto written = write(api, std::move(request), flags.dry_run); !written) {
      return report(written.error().at("node " + name));
    }
    std::string_view what = retries                            ? "will be retried"
                            : flags.what == NodeSteering::skip ? "will be skipped"
                                                               : "is no longer skipped";
    print_text(fmt::format("node {} {}{}\n", name, what, flags.dry_run ? " (dry run)" : ""));
  }
  return ExitCode::ok;
}

}  // namespace lockstep::cli

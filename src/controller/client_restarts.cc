#include "controller/client_restarts.h"

#include <utility>
#include <vector>

#include "kube/typed.h"
#include "upgrade/deciding.h"

namespace lockstep::controller {

void ClientRestarts::look_at(const view::KnownRollout& known) {
  for (const auto& [name, facts] : watch_.driver_facts()) {
    if (!facts.in_sync || facts.pod_created < known.object->meta.created) continue;
    auto node = watch_.node(name);
    if (!node || busy_.contains(name) || !watch_.is_current(name)) continue;
    if (!known.covers(std::string(node->meta.labels.get(fleet::driver_owner_label)), facts.set)) {
      continue;
    }
    if (node->meta.annotations.get(fleet::driver_pod_annotation) == facts.pod.view()) continue;
    look_at(name, facts);
  }
}

void ClientRestarts::look_at(const std::string& name, const view::DriverFacts& facts) {
  auto view = watch_.view(name);
  if (!view) return;
  view->clients = watch_.clients_on(*view);
  auto stale = upgrade::stale_clients(*view);
  if (!stale) return;
  if (stale->empty()) {
    Json note = JsonObject{
        {"metadata", JsonObject{{"resourceVersion", view->node->meta.resource_version.view()},
                                {"annotations",
                                 JsonObject{{fleet::driver_pod_annotation, facts.pod.view()}}}}}};
    return call(name,
                kube::patch(resource::nodes, {"", name}, kube::PatchType::merge, std::move(note)));
  }
  for (const upgrade::PodRemoval& removal : *stale) {
    log_.info("restarts a driver client",
              {{"node", name}, {"pod", removal.pod->meta.key().text()}});
    call(name, kube::remove(resource::pods, removal.pod->meta.key(),
                            JsonObject{{"apiVersion", "v1"},
                                       {"kind", "DeleteOptions"},
                                       {"preconditions",
                                        JsonObject{{"uid", removal.pod->meta.uid.view()}}}}));
  }
}

// Failures are retried at the next reconciliation.
void ClientRestarts::call(const std::string& node, kube::Request request) {
  busy_.insert(node);
  const bool is_note = request.verb == kube::Verb::patch;
  api_.call(std::move(request), scope_.bind([this, node, is_note](const kube::Reply& reply) {
    busy_.erase(node);
    // The next write of the node waits until this one is seen.
    if (is_note && reply && reply->ok()) {
      watch_.expect_node(node, kube::peek_body_version(reply->body));
    }
    if (reply && (reply->ok() || reply->code == 404 || reply->code == 409)) return;
    const Error error = reply ? reply->error() : reply.error();
    log_.warning("a driver client could not be restarted",
                 {{"node", node}, {"error", error.text()}});
  }));
}

}  // namespace lockstep::controller

#include "dashboard/fleet_source.h"

#include <utility>

#include <fmt/format.h>

#include "dashboard/node_card.h"
#include "kube/typed.h"
#include "rollout/command_rules.h"
#include "upgrade/decide.h"

namespace lockstep::dashboard {

namespace {

constexpr Duration patience_with_events = seconds(5);

kube::Request events_of(const std::string& node) {
  kube::Request request = kube::list(resource::events);
  request.with("fieldSelector",
               fmt::format("involvedObject.kind=Node,involvedObject.name={}", node));
  request.with("limit", "200");
  request.limit = patience_with_events;
  return request;
}

}  // namespace

void FleetSource::node(const std::string& name, JsonCallback done) {
  auto view = parts_.watch.view(name);
  if (!view) return done(fail(ErrorKind::not_found, "unknown node", "node " + name));
  upgrade::PoolView pool = parts_.watch.pool(view->pool);
  upgrade::Decision decision =
      upgrade::decide(*view, pool, parts_.watch.rules(), parts_.loop.now());
  Json card = node_card(*view, decision, pool, parts_.watch.rules().keys);
  card.as_object()["states"] = parts_.model.states_of(name);
  if (const NodeRow* row = parts_.model.find(name)) {
    card.as_object()["wave"] = row->wave;
    card.as_object()["zone"] = row->zone;
    card.as_object()["rack"] = row->rack;
    card.as_object()["model"] = row->model;
    card.as_object()["gpus"] = row->gpus;
  }
  parts_.api.call(events_of(name), scope_.bind([this, card = std::move(card),
                                                done = std::move(done)](kube::Reply reply) mutable {
    JsonObject& fields = card.as_object();
    std::vector<Event> events;
    if (!reply || !reply->ok()) {
      fields["eventsMissing"] = reply ? reply->error().text() : reply.error().text();
    } else {
      (void)kube::decode_list_body<Event>(
          reply->body, parts_.watch.context(),
          [&](Event&& event) { events.push_back(std::move(event)); }, [](const BadItem&) {});
    }
    fields["events"] = event_cards(std::move(events));
    done(std::move(card));
  }));
}

void FleetSource::plan(bool assume_change, JsonCallback done) {
  if (!parts_.watch.synced()) {
    return done(fail(ErrorKind::unreachable, "the fleet has not been listed yet"));
  }
  done(parts_.plan(assume_change));
}

void FleetSource::access(const std::string& token, JsonCallback done) {
  auto api = parts_.connect_as(token);
  if (!api) return done(fail(api.error()));
  find_access(std::move(*api), std::move(done));
}

std::vector<operate::PolicyObject> FleetSource::policies_of(const std::string& pool) const {
  std::vector<operate::PolicyObject> policies;
  if (!pool.empty()) return {{fleet::nvidia_drivers, pool}};
  parts_.watch.caches().cluster_policies().for_each([&](const auto& object) {
    policies.push_back({fleet::cluster_policies, object->meta.name.str()});
  });
  return policies;
}

void FleetSource::act(const std::string& token, const operate::Action& action, JsonCallback done) {
  if (!parts_.read_only.empty()) return done(fail(ErrorKind::conflict, parts_.read_only));
  const fleet::Keys& keys = parts_.watch.rules().keys;
  if (action.target == operate::ActionTarget::node) {
    auto view = parts_.watch.view(action.name);
    if (!view) return done(fail(ErrorKind::not_found, "unknown node"));
    std::string refusal = rollout::node_refusal_of(action.verb, *view->node, keys);
    if (action.verb == "retry" && !refusal.empty()) {
      return done(fail(ErrorKind::conflict, std::move(refusal), "node " + action.name));
    }
  }
  auto api = parts_.connect_as(token);
  if (!api) return done(fail(api.error()));
  perform(std::move(*api), action, parts_.loop.now(), keys, policies_of(action.name),
          std::move(done));
}

}  // namespace lockstep::dashboard

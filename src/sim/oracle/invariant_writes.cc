#include "sim/oracle/invariant_writes.h"

#include <fmt/format.h>

#include "base/strings.h"

namespace lockstep::sim {

void BoundedWrites::on_node(const NodeStep& step) {
  if (step.after == nullptr) {
    changes_.erase(step.name);
    return;
  }
  bool meddled = step.before == nullptr || (!step.ours && step.after->meddled == truth().uptime());
  const PodTruth* pod = truth().driver_pod(step.name);
  const DriverTruth* driver = pod == nullptr ? nullptr : truth().driver_of(*pod->object);
  // The desired state has changed.
  bool news =
      driver != nullptr && step.before != nullptr && driver->changed > step.before->state_changed;
  if (meddled || news) changes_[step.name] = 0;
  if (!step.ours) return;
  int count = ++changes_[step.name];
  // Repeatedly: without passing time, the run ends after this number of violations.
  if (count <= most_changes || count % most_changes != 1) return;
  accuse(fmt::format("{} was changed {} times for one cause, now in {}", step.name, count,
                     fleet::display_name(step.to())));
}

void BoundedWrites::on_pod_end(const PodEnd& end) {
  if (!end.ours || !is_of_daemon_set(end.pod)) return;
  std::string_view daemon_set = text_at(*controller_of(end.pod), "name");
  auto& times = removals_[fmt::format("{} {}", end.node, daemon_set)];
  Duration now = truth().uptime();
  while (!times.empty() && times.front() < now - minutes(10)) times.pop_front();
  times.push_back(now);
  if (times.size() != most_removals + 1) return;
  accuse(fmt::format("{} pods of {} were removed from {} within ten minutes", times.size(),
                     daemon_set, end.node));
}

void BoundedWrites::on_request(const kube::Request& request) {
  if (request.verb == kube::Verb::get || request.verb == kube::Verb::list) return;
  const std::string& kind = request.type.plural;
  if (kind == "events" || kind == "leases") return;
  int64_t minute = truth().uptime() / minutes(1);
  if (minute != minute_) {
    minute_ = minute;
    calls_.clear();
  }
  std::string call = request.describe();
  // Its path does not name what it makes: a gate makes a Job for each node of its wave.
  if (request.verb == kube::Verb::create && request.body) {
    call += fmt::format("/{}", text_at(*request.body, "metadata", "name"));
  }
  int count = ++calls_[call];
  int limit = most_calls_a_minute;
  // One ledger for all nodes.
  if (kind == "configmaps") limit += 4 * static_cast<int>(truth().nodes().size());
  if (count > limit && count % limit == 1)
    accuse(fmt::format("{}: {} times within a minute", call, count));
}

void NamedByUid::on_request(const kube::Request& request) {
  if (request.type.plural != "pods") return;
  bool evicts = request.verb == kube::Verb::create && request.subresource == "eviction";
  if (!evicts && request.verb != kube::Verb::remove) return;
  const Json* options = request.body.get();
  if (evicts && options != nullptr) options = find(*options, "deleteOptions");
  const Json* uid = options == nullptr ? nullptr : find(*options, "preconditions", "uid");
  if (uid == nullptr || as_text(uid).empty()) {
    accuse(fmt::format("{}: by its name alone", request.describe()));
  }
}

bool OwnWritesFirst::is_node_patch(const kube::Request& request) {
  return request.verb == kube::Verb::patch && request.type.plural == "nodes";
}

void OwnWritesFirst::on_call(int life, const kube::Request& request) {
  if (!is_node_patch(request) || !request.body) return;
  auto seen = parse_unsigned(text_at(*request.body, "metadata", "resourceVersion"));
  auto made = made_.find({life, request.name});
  if (!seen || made == made_.end() || *seen >= made->second) return;
  accuse(fmt::format("{}: on what it was at version {}, and our own last write had made it {}",
                     request.describe(), *seen, made->second));
}

void OwnWritesFirst::on_reply(int life, const kube::Request& request, const kube::Response& reply) {
  if (!is_node_patch(request) || !reply.ok()) return;
  auto document = reply.document();
  if (!document) return;
  if (auto version = parse_unsigned(text_at(**document, "metadata", "resourceVersion"))) {
    made_[{life, request.name}] = *version;
  }
}

}  // namespace lockstep::sim

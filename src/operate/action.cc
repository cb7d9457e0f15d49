#include "operate/action.h"

#include <utility>

#include <fmt/format.h>

#include "base/strings.h"
#include "data/strict_reader.h"
#include "fleet/state.h"
#include "objects/decode.h"
#include "objects/names.h"
#include "rollout/command_rules.h"
#include "rollout/conduct.h"

namespace lockstep::operate {

namespace {

constexpr size_t longest_reason = 500;

constexpr std::pair<std::string_view, ActionTarget> targets[] = {
    {"pool", ActionTarget::pool}, {"rollout", ActionTarget::rollout}, {"node", ActionTarget::node}};

std::vector<std::string> verbs_of(ActionTarget target) {
  switch (target) {
    case ActionTarget::pool:
      return {"pause", "resume"};
    case ActionTarget::rollout:
      return {"pause", "resume", "promote", "abort", "retry", "rollback"};
    case ActionTarget::node:
      return {"retry", "skip", "unskip"};
  }
  return {};
}

kube::Request merge(const ResourceType& type, const std::string& name, Json patch) {
  kube::Request request = kube::patch(type, {"", name}, kube::PatchType::merge, std::move(patch));
  request.with("fieldManager", "lockstep");
  return request;
}

Json metadata(JsonObject annotations, JsonObject labels = {}) {
  JsonObject fields{{"annotations", std::move(annotations)}};
  if (!labels.empty()) fields["labels"] = std::move(labels);
  return JsonObject{{"metadata", std::move(fields)}};
}

Result<kube::Request> request_for_node(const Action& action, const std::string& line,
                                       const fleet::Keys& keys, const Json& object) {
  DecodeContext context;
  LOCKSTEP_TRY(const Node node, decode_object<Node>(object, context));
  std::string refusal = rollout::node_refusal_of(action.verb, node, keys);
  if (!refusal.empty() && !action.force) {
    return fail(ErrorKind::conflict, std::move(refusal), "node " + action.name);
  }
  JsonObject labels;
  JsonObject annotations{{rollout::steered_annotation, line}};
  if (action.verb == "retry") labels[keys.state] = to_string(fleet::State::required);
  if (action.verb == "skip") {
    labels[keys.skip] = "true";
    annotations[rollout::kept_back_annotation] = nullptr;
  }
  // Whichever of the two it was.
  if (action.verb == "unskip") labels = {{keys.skip, nullptr}, {keys.users_skip, nullptr}};
  return merge(resource::nodes, action.name, metadata(std::move(annotations), std::move(labels)));
}

Result<kube::Request> request_for_rollout(const Action& action, const kube::ClusterUser& user,
                                          const std::string& line, Time now, const Json& object) {
  rollout::Command command;
  command.verb = action.verb;
  command.wave = action.wave;
  command.by = user.name;
  command.at = now;
  command.force = action.force;
  const rollout::RolloutSpec spec = rollout::read_rollout_spec(object);
  command.groups = rollout::groups_asked_for(spec, user.groups);
  LOCKSTEP_CHECK(
      rollout::check_command(action.name, command, spec, rollout::read_rollout_status(object)));
  Json patch = rollout::patch_of(command, spec);
  JsonObject& fields = ensure_object(patch.as_object(), "metadata");
  ensure_object(fields, "annotations")[rollout::steered_annotation] = line;
  return merge(fleet::driver_rollouts, action.name, std::move(patch));
}

}  // namespace

std::string clean_line(std::string_view text, size_t most) {
  std::string line;
  for (char c : text) line += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
  line = std::string(trim(line));
  if (line.size() <= most) return line;
  // Not in the middle of a character.
  while (most > 0 && (static_cast<unsigned char>(line[most]) & 0xC0U) == 0x80U) --most;
  return line.substr(0, most);
}

namespace {

void read_fields(StrictReader& reader, Action& action) {
  reader.choice("target", action.target, targets).required("target").required("verb");
  if (reader.has("target") && !reader.is_refused("target")) {
    reader.word("verb", action.verb, verbs_of(action.target));
  }
  reader.text("name", action.name).text("wave", action.wave).text("reason", action.reason);
  if (action.target != ActionTarget::pool) reader.required("name");
  if (!action.name.empty() && !check_dns_subdomain(action.name).empty()) {
    reader.refuse("name", "must be the name of a Kubernetes object");
  }
  action.reason = clean_line(action.reason, longest_reason);
  if (action.reason.empty()) {
    reader.refuse("reason", "is missing; it is recorded with the action");
  }
}

}  // namespace

Result<Action> read_action(std::string_view body) {
  JsonLimits limits;
  limits.depth = 4;
  LOCKSTEP_TRY(Json json, parse_json(body, limits));
  Action action;
  Reading reading("", {.refuse_null = true});
  reading.map(json, [&](StrictReader& reader) { read_fields(reader, action); });
  LOCKSTEP_CHECK(reading.result());
  return action;
}

Result<std::vector<kube::Request>> requests_of(const Action& action, const kube::ClusterUser& user,
                                               Time now, const fleet::Keys& keys,
                                               const std::vector<PolicyObject>& policies,
                                               const Json& object) {
  const std::string line = rollout::steering_line(now, action.verb, user.name, action.reason);
  std::vector<kube::Request> requests;
  if (action.target == ActionTarget::node) {
    LOCKSTEP_TRY(kube::Request request, request_for_node(action, line, keys, object));
    requests.push_back(std::move(request));
  } else if (action.target == ActionTarget::rollout) {
    LOCKSTEP_TRY(kube::Request request, request_for_rollout(action, user, line, now, object));
    requests.push_back(std::move(request));
  } else {
    if (policies.empty()) {
      return fail(ErrorKind::not_found,
                  "no ClusterPolicy or NVIDIADriver has the policy of this pool");
    }
    Json value = nullptr;
    if (action.verb == "pause") {
      value = fmt::format("{} by {}{}{}", format_rfc3339(now), user.name,
                          action.reason.empty() ? "" : ": ", action.reason);
    }
    for (const PolicyObject& policy : policies) {
      JsonObject annotations{{fleet::paused_annotation, value},
                             {rollout::steered_annotation, line}};
      requests.push_back(merge(policy.type, policy.name, metadata(std::move(annotations))));
    }
  }
  return requests;
}

}  // namespace lockstep::operate

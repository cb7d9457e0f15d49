#include "dashboard/action.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/strings.h"
#include "fleet/state.h"
#include "objects/decode.h"
#include "objects/names.h"
#include "rollout/command_rules.h"
#include "rollout/conduct.h"

namespace lockstep::dashboard {

namespace {

constexpr size_t longest_reason = 500;

struct Known {
  ActionTarget target;
  std::string_view target_name;
  std::string_view verb;
};
constexpr std::array known_actions = {
    Known{ActionTarget::pool, "pool", "pause"},
    Known{ActionTarget::pool, "pool", "resume"},
    Known{ActionTarget::rollout, "rollout", "pause"},
    Known{ActionTarget::rollout, "rollout", "resume"},
    Known{ActionTarget::rollout, "rollout", "promote"},
    Known{ActionTarget::rollout, "rollout", "abort"},
    Known{ActionTarget::rollout, "rollout", "retry"},
    Known{ActionTarget::rollout, "rollout", "rollback"},
    Known{ActionTarget::node, "node", "retry"},
    Known{ActionTarget::node, "node", "skip"},
    Known{ActionTarget::node, "node", "unskip"},
};

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
  if (std::string refusal = rollout::node_refusal_of(action.verb, node, keys); !refusal.empty()) {
    return fail(ErrorKind::conflict, std::move(refusal), "node " + action.name);
  }
  JsonObject labels;
  JsonObject annotations{{steered_annotation, line}};
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
  const rollout::RolloutSpec spec = rollout::read_rollout_spec(object);
  command.groups = rollout::groups_asked_for(spec, user.groups);
  LOCKSTEP_CHECK(
      rollout::check_command(action.name, command, spec, rollout::read_rollout_status(object)));
  Json patch = rollout::patch_of(command, spec);
  JsonObject& fields = ensure_object(patch.as_object(), "metadata");
  ensure_object(fields, "annotations")[steered_annotation] = line;
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

Result<Action> read_action(std::string_view body) {
  JsonLimits limits;
  limits.depth = 4;
  LOCKSTEP_TRY(Json json, parse_json(body, limits));
  if (!json.is_object()) return fail(ErrorKind::invalid, "an action is an object");
  for (const auto& [key, value] : std::as_const(json).get_object()) {
    bool known =
        key == "verb" || key == "target" || key == "name" || key == "wave" || key == "reason";
    if (!known || !value.is_string()) {
      return failf(ErrorKind::invalid, "an action has no text called {}", std::string_view(key));
    }
  }
  Action action;
  action.verb = text_at(json, "verb");
  action.name = text_at(json, "name");
  action.wave = text_at(json, "wave");
  action.reason = clean_line(text_at(json, "reason"), longest_reason);
  std::string_view target = text_at(json, "target");
  const auto* known = std::find_if(known_actions.begin(), known_actions.end(), [&](const Known& k) {
    return k.verb == action.verb && k.target_name == target;
  });
  if (known == known_actions.end()) {
    return failf(ErrorKind::invalid, "nobody can {} a {}", action.verb, target);
  }
  action.target = known->target;
  if (action.name.empty() && action.target != ActionTarget::pool) {
    return failf(ErrorKind::invalid, "say which {}", target);
  }
  if (!action.name.empty() && !check_dns_subdomain(action.name).empty()) {
    return failf(ErrorKind::invalid, "\"{}\" is no name of a {}", action.name, target);
  }
  if (action.reason.empty()) {
    return fail(ErrorKind::invalid, "say why: the reason is kept for those who come after");
  }
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
                  "no ClusterPolicy and no NVIDIADriver has this pool's rules");
    }
    Json value = nullptr;
    if (action.verb == "pause") {
      value = fmt::format("{} by {}: {}", format_rfc3339(now), user.name, action.reason);
    }
    for (const PolicyObject& policy : policies) {
      JsonObject annotations{{fleet::paused_annotation, value}, {steered_annotation, line}};
      requests.push_back(merge(policy.type, policy.name, metadata(std::move(annotations))));
    }
  }
  return requests;
}

}  // namespace lockstep::dashboard

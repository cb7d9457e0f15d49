#include "rollout/command_rules.h"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

#include "base/strings.h"
#include "fleet/node_view.h"
#include "rollout/conduct.h"
#include "rollout/restoring.h"
#include "rollout/wave_evidence.h"
#include "upgrade/pod_names.h"

namespace lockstep::rollout {

namespace {

// In the order in which they are offered.
constexpr std::array<std::string_view, 6> offered_verbs = {"promote", "retry", "rollback",
                                                           "resume",  "abort", "pause"};

std::string not_in_progress(const RolloutStatus& status) {
  switch (status.phase) {
    case Phase::complete:
      return fmt::format("the rollout to {} is Complete", status.to.version);
    case Phase::rolled_back:
      return fmt::format("the rollout is already rolled back to {}", status.from.version);
    case Phase::pending:
      return "no rollout is in progress";
    default:
      return {};
  }
}

const WaveStatus* current_wave_of(const RolloutStatus& status) {
  auto current = static_cast<size_t>(std::max<int64_t>(status.open_waves, 1) - 1);
  return status.open_waves > 0 && current < status.waves.size() ? &status.waves[current] : nullptr;
}

std::string refuse_promote(const Command& command, const RolloutStatus& status) {
  if (std::string idle = not_in_progress(status); !idle.empty()) return idle;
  if (status.phase == Phase::held && status.reason == Reason::rejected_version) {
    return "the version was rolled back; retry allows it again";
  }
  const WaveStatus* wave = current_wave_of(status);
  if (wave == nullptr || !wave->opened.is_set()) return "no wave is open";
  if (!command.wave.empty() && command.wave != wave->name) {
    return fmt::format("the current wave is {}, not {}", wave->name, command.wave);
  }
  if (status.phase == Phase::rolling_back || status.waves_to_return > 0) {
    return "a rollback is in progress";
  }
  if (status.phase == Phase::baking) {
    return command.force ? "" : fmt::format("the bake of wave {} is in progress", wave->name);
  }
  if (status.phase == Phase::awaiting_approval) return {};
  if (status.phase != Phase::held) {
    return fmt::format("wave {} is {} and needs no approval now", wave->name,
                       to_string(status.phase));
  }
  if (wave->pending == 0 && is_short_of_nodes(status.reason) && wave->verdict == Outcome::passed) {
    return "the next wave has too few nodes that can be upgraded";
  }
  if (wave->pending == 0 && wave->done == 0) {
    return fmt::format("no node of wave {} is upgraded; retry chooses its nodes again", wave->name);
  }
  if (wave->pending == 0) return {};
  return fmt::format("{} of wave {} {} not upgraded",
                     upgrade::counted(static_cast<size_t>(wave->pending), "node"), wave->name,
                     wave->pending == 1 ? "is" : "are");
}

// Also of an override: it lets the wave pass.
std::string refuse_approver(const Command& command, const RolloutSpec& spec,
                            const RolloutStatus& status) {
  const WaveStatus* wave = current_wave_of(status);
  if (wave == nullptr) return {};
  auto at = std::find_if(spec.waves.begin(), spec.waves.end(),
                         [&](const WaveSpec& each) { return each.name == wave->name; });
  if (at == spec.waves.end()) return {};
  const Approvers& approvers = at->approvers;
  const bool is_member =
      approvers.groups.empty() ||
      std::any_of(approvers.groups.begin(), approvers.groups.end(), [&](const std::string& group) {
        return std::find(command.groups.begin(), command.groups.end(), group) !=
               command.groups.end();
      });
  if (!is_member) {
    return fmt::format("wave {} needs an approver from {}, and {} is not a member", wave->name,
                       join(approvers.groups, " or "), command.by);
  }
  if (!approvers.not_author) return {};
  if (spec.author.empty()) {
    return fmt::format(
        "the author of the spec must not approve wave {}, and the author is not recorded "
        "(annotation {})",
        wave->name, spec_by_annotation);
  }
  if (spec.author != command.by) return {};
  return fmt::format("the author of the spec, {1}, must not approve wave {0}", wave->name,
                     spec.author);
}

std::string refuse_rollback(const RolloutSpec& spec, const RolloutStatus& status) {
  if (status.phase == Phase::pending || status.phase == Phase::rolled_back) {
    return not_in_progress(status);
  }
  if (status.phase == Phase::rolling_back) {
    return spec.paused ? "" : "a rollback is already in progress";
  }
  if (!status.from.is_set()) return "the previous version is not recorded";
  // Its owner's next change would set the rejected version again.
  if (spec.driver.kind == DriverKind::daemon_set && !spec.matrix) {
    return fmt::format(
        "Lockstep does not change the DaemonSet {}: set {} in it, and its nodes roll back",
        spec.driver.name, status.from.version);
  }
  return {};
}

}  // namespace

std::string refusal_of(const Command& command, const RolloutSpec& spec,
                       const RolloutStatus& status) {
  if (command.verb == "pause") return spec.paused ? "the rollout is already paused" : "";
  if (command.verb == "resume") return spec.paused ? "" : "the rollout is not paused";
  if ((command.verb == "promote" || command.verb == "retry") && !has_opened_waves(spec, status)) {
    return fmt::format("spec.waves must begin with the waves that have opened ({}) first",
                       name_opened_waves(status));
  }
  if (command.verb == "promote") {
    const std::string why = refuse_promote(command, status);
    return why.empty() ? refuse_approver(command, spec, status) : why;
  }
  if (command.verb == "rollback") return refuse_rollback(spec, status);
  const bool is_held = status.phase == Phase::held;
  if (command.verb == "abort") {
    // Held for want of nodes, for nodes that users retry, or for its spec, it continues by itself.
    const bool continues = is_short_of_nodes(status.reason) ||
                           status.reason == Reason::nodes_blocked || status.held_from;
    return is_held && !continues ? "the rollout is Held: its waves are already closed"
                                 : not_in_progress(status);
  }
  if (command.verb == "retry") {
    if (is_held) return {};
    const std::string idle = not_in_progress(status);
    return idle.empty() ? fmt::format("the rollout is {}; only a Held rollout can be retried",
                                      to_string(status.phase))
                        : idle;
  }
  return fmt::format("unknown command \"{}\"", command.verb);
}

Result<void> check_command(std::string_view rollout, const Command& command,
                           const RolloutSpec& spec, const RolloutStatus& status) {
  const std::string refusal = refusal_of(command, spec, status);
  if (refusal.empty()) return {};
  std::vector<std::string> accepted;
  for (std::string_view verb : offered_verbs) {
    Command other;
    other.verb = verb;
    other.by = command.by;
    other.groups = command.groups;
    if (refusal_of(other, spec, status).empty()) {
      accepted.emplace_back(verb);
      continue;
    }
    other.force = true;
    if (refusal_of(other, spec, status).empty())
      accepted.push_back(fmt::format("{} --force", verb));
  }
  return fail(ErrorKind::conflict,
              fmt::format("{} changes nothing: {}. Next: lockstep rollout {} {}", command.verb,
                          refusal, join(accepted, " | "), rollout),
              fmt::format("rollout {}", rollout));
}

std::string node_refusal_of(std::string_view verb, const Node& node, const fleet::Keys& keys) {
  if (verb == "retry") {
    const fleet::State state = fleet::state_of(node, keys);
    if (state == fleet::State::failed) return {};
    return fmt::format("is {}; only {} can be retried", fleet::display_name(state),
                       to_string(fleet::State::failed));
  }
  const bool is_skipped = is_skipped_by_person(node, keys);
  if (verb == "skip") return is_skipped ? "is already skipped" : "";
  if (is_skipped) return {};
  return is_kept_back(node) ? "is held by a rollout until its wave opens" : "is not skipped";
}

Json patch_of(const Command& command, const RolloutSpec& spec) {
  if (command.verb == "pause" || command.verb == "resume") {
    return JsonObject{{"spec", JsonObject{{"paused", command.verb == "pause"}}}};
  }
  // What an earlier command left is not this user's.
  const Json groups =
      command.groups.empty() ? Json() : Json(JsonString(join(command.groups, "\n")));
  JsonObject annotations{{command_annotation, print_json(command.to_json())},
                         {command_by_annotation, command.by},
                         {command_groups_annotation, groups}};
  JsonObject patch{{"metadata", JsonObject{{"annotations", std::move(annotations)}}}};
  if (command.verb == "rollback" && spec.paused) patch["spec"] = JsonObject{{"paused", false}};
  return patch;
}

std::vector<std::string> groups_asked_for(const RolloutSpec& spec,
                                          const std::vector<std::string>& groups) {
  std::vector<std::string> asked;
  for (const std::string& group : groups) {
    const bool is_asked =
        std::any_of(spec.waves.begin(), spec.waves.end(), [&](const WaveSpec& wave) {
          const auto& all = wave.approvers.groups;
          return std::find(all.begin(), all.end(), group) != all.end();
        });
    if (is_asked) asked.push_back(group);
  }
  return asked;
}

std::string steering_line(Time now, std::string_view verb, std::string_view by,
                          std::string_view reason) {
  return fmt::format("{} {} by {}{}{}", format_rfc3339(now), verb, by, reason.empty() ? "" : ": ",
                     reason);
}

}  // namespace lockstep::rollout

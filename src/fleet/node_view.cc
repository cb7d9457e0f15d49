#include "fleet/node_view.h"

#include <algorithm>

namespace lockstep::fleet {

int64_t gpu_pods_on(const NodeView& view) {
  return std::count_if(view.pods.begin(), view.pods.end(), [](const PodOnNode& entry) {
    return entry.uses_gpu && !entry.pod->is_finished();
  });
}

State state_of(const Node& node, const Keys& keys) {
  return state_of(node.meta.labels.get(keys.state));
}

bool has_strange_state(const Node& node, const Keys& keys) {
  std::string_view label = node.meta.labels.get(keys.state);
  return !label.empty() && state_of(label) == State::unknown;
}

std::string_view skip_label_of(const Node& node, const Keys& keys) {
  if (node.meta.labels.get(keys.skip) == "true") return keys.skip;
  // A label that a rollout wrote, beside NVIDIA's controller, is not a user's.
  bool is_users = node.meta.labels.get(keys.users_skip) == "true" &&
                  !node.meta.annotations.contains(kept_back_annotation);
  return is_users ? std::string_view(keys.users_skip) : std::string_view();
}

bool is_skipped(const Node& node, const Keys& keys) { return !skip_label_of(node, keys).empty(); }

bool is_left_by_drains(const Pod& pod, const Keys& keys) {
  return pod.meta.labels.get(keys.drain_skip) == "true" ||
         pod.meta.labels.get(keys.users_drain_skip) == "true";
}

bool is_requested(const Node& node, const Keys& keys) {
  return node.meta.annotations.get(keys.requested) == "true";
}

bool waits_for_safe_load(const Node& node, const Keys& keys) {
  return !node.meta.annotations.get(keys.safe_load).empty();
}

bool is_cordoned_by_us(const Node& node) {
  return node.unschedulable && node.meta.annotations.get(cordon_annotation) == our_cordon;
}

bool was_cordoned_by_others(const Node& node, const Keys& keys) {
  State state = state_of(node, keys);
  bool was_cordoned = node.meta.annotations.contains(keys.initially_unschedulable);
  // In the middle of an upgrade, NVIDIA's driver-manager uncordons too, each time it reloads a
  // driver. Uncordoning does not change the owner of the cordon. At rest, the note is stale.
  if (was_cordoned && (is_active(state) || state == State::failed)) return true;
  if (!node.unschedulable) return false;
  if (was_cordoned) return true;
  std::string_view mark = node.meta.annotations.get(cordon_annotation);
  if (mark == our_cordon) return false;
  if (mark == lifted_cordon) return true;
  // There is no note of the owner. In the middle of an upgrade that NVIDIA's controller began, a
  // cordon without a note of the initial state belongs to the upgrade; so does one of a failed
  // attempt. Before an upgrade, or between our slot and our cordon, only users cordon.
  bool not_yet = state == State::cordon && state_since(node).is_set();
  bool of_upgrade = (is_active(state) && !not_yet) || state == State::failed;
  return !of_upgrade && !node.meta.annotations.contains(failure_annotation);
}

bool is_unvalidated(const Node& node) {
  return node.meta.annotations.contains(unvalidated_annotation);
}

Time state_since(const Node& node) {
  auto since = parse_rfc3339(node.meta.annotations.get(since_annotation));
  // A time before 1970 was written by a wrong clock.
  return since && since->unix_nanoseconds > 0 ? *since : Time{};
}

}  // namespace lockstep::fleet

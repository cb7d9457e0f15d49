#include "fleet/node_view.h"

namespace lockstep::fleet {

State state_of(const Node& node, const Keys& keys) {
  return state_of(node.meta.labels.get(keys.state));
}

bool has_strange_state(const Node& node, const Keys& keys) {
  std::string_view label = node.meta.labels.get(keys.state);
  return !label.empty() && state_of(label) == State::unknown;
}

bool is_skipped(const Node& node, const Keys& keys) {
  return node.meta.labels.get(keys.skip) == "true";
}

bool is_requested(const Node& node, const Keys& keys) {
  return node.meta.annotations.get(keys.requested) == "true";
}

bool waits_for_safe_load(const Node& node, const Keys& keys) {
  return !node.meta.annotations.get(keys.safe_load).empty();
}

bool was_cordoned_by_others(const Node& node, const Keys& keys) {
  bool noted = node.meta.annotations.contains(keys.initially_unschedulable);
  State state = state_of(node, keys);
  if (is_active(state) || state == State::failed) return noted;
  // Before the upgrade began nothing of ours cordons, but for an earlier try that failed. And the
  // note is old when somebody has uncordoned the node since.
  return node.unschedulable && (noted || !node.meta.annotations.contains(failure_annotation));
}

Time state_since(const Node& node) {
  auto since = parse_rfc3339(node.meta.annotations.get(since_annotation));
  // What was before 1970 was written by nobody who knew the time.
  return since && since->unix_nanoseconds > 0 ? *since : Time{};
}

}  // namespace lockstep::fleet

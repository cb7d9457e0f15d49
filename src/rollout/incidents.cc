#include "rollout/incidents.h"

#include <fmt/format.h>

namespace lockstep::rollout {

bool Incidents::add(const std::string& node, const EventCounts& events, Duration from,
                    Duration to) {
  auto [entry, is_new] = by_node_.try_emplace(node);
  OfNode& of_node = entry->second;
  for (const auto& [kind, count] : events) of_node.events[kind] += count;
  if (!is_new && from < of_node.began + incident_length) return false;
  of_node.began = to;
  ++of_node.count;
  ++count_;
  return true;
}

int64_t Incidents::count(const std::string& node) const {
  auto at = by_node_.find(node);
  return at == by_node_.end() ? 0 : at->second.count;
}

std::string Incidents::text() const {
  constexpr size_t most = 3;
  std::string text;
  size_t named = 0;
  for (const auto& [node, of_node] : by_node_) {
    if (named++ == most) return text + fmt::format("; and {} more", by_node_.size() - most);
    text += fmt::format("{}{}:", text.empty() ? "" : "; ", node);
    bool is_first = true;
    for (const auto& [kind, count] : of_node.events) {
      text += fmt::format("{} {} {}", is_first ? "" : ",", count, kind);
      is_first = false;
    }
  }
  return text;
}

}  // namespace lockstep::rollout

#include "apiserver/watch_backlog.h"

namespace lockstep::apiserver {

void WatchBacklog::set(uint64_t watch, size_t bytes) {
  if (const auto found = entries_.find(watch); found != entries_.end()) {
    bytes_ -= found->second.bytes;
    by_turn_.erase(found->second.turn);
    entries_.erase(found);
  }
  if (bytes == 0) return;
  entries_[watch] = {next_turn_, bytes};
  by_turn_[next_turn_++] = watch;
  bytes_ += bytes;
}

std::optional<uint64_t> WatchBacklog::slowest_but(uint64_t watch) const {
  for (const auto& [turn, other] : by_turn_) {
    if (other != watch) return other;
  }
  return std::nullopt;
}

}  // namespace lockstep::apiserver

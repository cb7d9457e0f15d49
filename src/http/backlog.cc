#include "http/backlog.h"

namespace lockstep::http {

void Backlog::set(uint64_t stream, size_t bytes) {
  if (const auto found = entries_.find(stream); found != entries_.end()) {
    bytes_ -= found->second.bytes;
    by_turn_.erase(found->second.turn);
    entries_.erase(found);
  }
  if (bytes == 0) return;
  entries_[stream] = {next_turn_, bytes};
  by_turn_[next_turn_++] = stream;
  bytes_ += bytes;
}

std::optional<uint64_t> Backlog::slowest_but(uint64_t stream) const {
  for (const auto& [turn, other] : by_turn_) {
    if (other != stream) return other;
  }
  return std::nullopt;
}

}  // namespace lockstep::http

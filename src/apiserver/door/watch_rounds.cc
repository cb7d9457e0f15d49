#include "apiserver/door/watch_rounds.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace lockstep::apiserver {

uint64_t WatchRounds::add(const std::string& storage, const http::Stream& stream) {
  streams_[storage][next_number_] = &stream;
  return next_number_++;
}

void WatchRounds::remove(const std::string& storage, uint64_t number) {
  streams_[storage].erase(number);
}

void WatchRounds::on_change(const std::string& storage) {
  if (streams_.find(storage) == streams_.end()) return;
  dirty_.insert(storage);
  if (is_scheduled_) return;
  is_scheduled_ = true;
  const Duration wait = std::max(Duration(0), last_end_ + pause_ - loop_.uptime());
  loop_.after(wait, scope_.bind([this] { flush(); }));
}

void WatchRounds::flush() {
  is_scheduled_ = false;
  const Duration begin = loop_.uptime();
  for (const auto& storage : std::exchange(dirty_, {})) {
    auto& streams = streams_[storage];
    std::vector<uint64_t> numbers;
    numbers.reserve(streams.size());
    for (const auto& [number, stream] : streams) numbers.push_back(number);
    for (uint64_t number : numbers) {
      // Waking one may end others.
      const auto found = streams.find(number);
      if (found != streams.end()) found->second->wake();
    }
  }
  last_end_ = loop_.uptime();
  pause_ = std::clamp<Duration>(2 * (last_end_ - begin), microseconds(100), milliseconds(50));
}

}  // namespace lockstep::apiserver

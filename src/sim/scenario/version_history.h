// Which version the store had how long ago, to the second: what a replica that lags behind serves.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <utility>

#include "apiserver/store/store.h"
#include "world/loop.h"

namespace lockstep::sim {

class VersionHistory {
 public:
  // Older than `kept` is answered as the oldest that is known.
  VersionHistory(apiserver::Store& store, Loop& loop, Duration kept = hours(1));
  ~VersionHistory();
  VersionHistory(const VersionHistory&) = delete;
  VersionHistory& operator=(const VersionHistory&) = delete;

  std::string version_before(Duration age) const;

 private:
  void note(uint64_t version);

  apiserver::Store& store_;
  Loop& loop_;
  Duration kept_;
  uint64_t listener_;
  // When, and the version then; at most one for each second.
  std::deque<std::pair<Duration, uint64_t>> versions_;
};

}  // namespace lockstep::sim

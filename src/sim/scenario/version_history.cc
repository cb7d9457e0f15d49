#include "sim/scenario/version_history.h"

#include <algorithm>

namespace lockstep::sim {

VersionHistory::VersionHistory(apiserver::Store& store, Loop& loop, Duration kept)
    : store_(store),
      loop_(loop),
      kept_(kept),
      listener_(store.add_listener(
          [this](const std::string&, const apiserver::Change& change) { note(change.version); })) {
  versions_.emplace_back(loop_.uptime(), store_.version());
}

VersionHistory::~VersionHistory() { store_.remove_listener(listener_); }

void VersionHistory::note(uint64_t version) {
  Duration now = loop_.uptime();
  if (now - versions_.back().first < seconds(1)) return;
  versions_.emplace_back(now, version);
  while (versions_.size() > 1 && versions_[1].first < now - kept_) versions_.pop_front();
}

std::string VersionHistory::version_before(Duration age) const {
  Duration then = loop_.uptime() - age;
  auto after =
      std::upper_bound(versions_.begin(), versions_.end(), then,
                       [](Duration wanted, const auto& entry) { return wanted < entry.first; });
  const auto& entry = after == versions_.begin() ? versions_.front() : *(after - 1);
  return std::to_string(entry.second);
}

}  // namespace lockstep::sim

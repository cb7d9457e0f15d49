// A watcher: a position in the log of one resource, and what it wants to see of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apiserver/verbs/backend.h"
#include "apiserver/verbs/reading.h"

namespace lockstep::apiserver {

struct FeedEvent {
  kube::WatchEventType type = kube::WatchEventType::added;
  StoredPtr object;  // null for bookmark and error
  Json note;         // the bookmark's or error's object
};

class WatchFeed {
 public:
  // 400 for an invalid request. A version that is too old is not refused: the first event is the
  // 410, as the real server does it.
  static Outcome<WatchFeed> open(Backend& backend, const ResourceInfo& info,
                                 const kube::Request& request);

  // What is new since the last call, at most `most` events.
  std::vector<FeedEvent> next(size_t most = 1000);
  // True when next() would give something.
  bool ready() const;
  // Ended by an error event.
  bool ended() const { return ended_; }
  bool wants_bookmarks() const { return bookmarks_; }
  size_t initial_objects() const { return initial_.size(); }
  // A bookmark of its position.
  FeedEvent bookmark() const;

  const ResourceInfo& info() const { return *info_; }
  // Feeds with equal fingerprints at equal positions give the same events.
  const std::string& fingerprint() const;
  uint64_t position() const { return position_; }
  // Another watch already read up to here on our behalf.
  void skip_to(uint64_t position) { position_ = position; }
  bool in_log() const {
    return initial_.empty() && !announce_initial_end_ && too_old_ == 0 && !ended_;
  }

 private:
  WatchFeed() = default;
  std::optional<FeedEvent> translate(const Change& change) const;
  FeedEvent gone(uint64_t version) const;
  // The log no longer has what comes next.
  bool is_behind() const;

  Backend* backend_ = nullptr;
  const ResourceInfo* info_ = nullptr;
  Selection selection_;
  std::string ns_;
  mutable std::string fingerprint_;  // made when it is first asked for: not by watches in process
  bool bookmarks_ = false;
  bool ended_ = false;
  bool announce_initial_end_ = false;
  uint64_t initial_version_ = 0;
  uint64_t position_ = 0;
  uint64_t too_old_ = 0;            // the version asked for, when the log no longer has it
  std::vector<StoredPtr> initial_;  // reversed: taken from the back
};

}  // namespace lockstep::apiserver

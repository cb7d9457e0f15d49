// Keeps a copy of one type of object up to date: lists it, watches it from there, and goes on from
// the last version seen whenever the watch ends. What arrives goes to a sink; CacheFeed<T>
// (cache_feed.h) is the one that fills a Cache<T>.
//
// What it promises: once the API is reachable and calm, the sink's view becomes equal to the truth;
// and the view never becomes older because one replica of the API server lags behind another.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "kube/api.h"
#include "kube/backoff.h"
#include "objects/decode.h"
#include "world/log.h"
#include "world/loop.h"
#include "world/random.h"

namespace lockstep::kube {

// Must not destroy the reflector from inside a call.
class ReflectorSink {
 public:
  virtual ~ReflectorSink() = default;

  // A list begins (again): what was collected and not ended before is void.
  virtual void begin_replace() = 0;
  // One page of the list. An error means that it is not a list at all; the sink handles an invalid
  // item.
  virtual Result<ListPage> page(const Body& body) = 0;
  // One object of a list that comes as a stream.
  virtual void item(const Body& object) = 0;
  // The list is complete: the collected objects replace what is held. False: the sink has seen
  // newer. `history_restarted`: versions have restarted, older ones than seen before are no error.
  virtual bool end_replace(const std::string& version, bool history_restarted) = 0;

  // Added, modified, deleted or bookmark. Returns the object's version, empty if it cannot be read.
  virtual std::string event(WatchEventType type, const Body& object) = 0;
};

struct ReflectorOptions {
  ResourceType type;
  std::string ns;                                          // empty: all
  std::vector<std::pair<std::string, std::string>> query;  // selectors
  size_t page_size = 500;
  Duration list_limit = minutes(1);  // of one page
  // A watch is asked to live for this long or up to twice that, so that not all end at once.
  Duration watch_limit = minutes(5);
  // Servers send a bookmark about every minute; a watch that is silent for longer than this may
  // have lost its connection without an error.
  Duration silence_limit = seconds(150);
  BackoffPolicy backoff{milliseconds(800), seconds(30), 2.0, 1.0};
  // The list as a stream of events (sendInitialEvents), for servers that have it.
  bool watch_list = false;
  // Lists older than what was seen are refused until there were this many of them, for this long.
  // Then the history was really restored (from a backup of etcd) and the list is the truth.
  uint32_t older_lists_turned_down = 6;
  Duration older_lists_turned_down_for = minutes(3);
  std::function<void()> on_synced;  // after the first list
};

// The options of a plain watch of one type, in one namespace or in all.
inline ReflectorOptions watch_of(const ResourceType& type, std::string ns = {}) {
  ReflectorOptions options;
  options.type = type;
  options.ns = std::move(ns);
  return options;
}

struct ReflectorStatus {
  bool synced = false;    // a whole list has been delivered
  bool watching = false;  // a watch is open now
  std::string version;    // the last seen
  Time last_success;      // a list, an event or a bookmark arrived
  std::optional<Error> last_error;
  Time last_error_time;
  uint64_t lists = 0;    // that were delivered
  uint64_t relists = 0;  // of these, all but the first
  uint64_t watches = 0;  // that were begun
  uint64_t events = 0;
  uint64_t errors = 0;
  uint64_t silent_watches = 0;
  uint64_t older_lists = 0;  // that were turned down
};

class Reflector {
 public:
  Reflector(Api& api, Loop& loop, Random& random, Log& log, ReflectorOptions options,
            ReflectorSink& sink);
  ~Reflector();
  Reflector(const Reflector&) = delete;
  Reflector& operator=(const Reflector&) = delete;

  void start();
  // Nothing is delivered after this. start() goes on from the last version.
  void stop();

  bool synced() const { return status_.synced; }
  const ReflectorStatus& status() const { return status_; }
  // Since when, on the loop's uptime, it has received every change, except for moments. Code
  // that decides that something has lasted too long must have seen it. Now, before the first
  // list.
  Duration sees_since() const;
  // What is held may be stale at this moment: the watch has been silent for longer than a moment,
  // or a list took so long that it was old when it ended, and the watch after it has only just
  // begun.
  bool is_blind() const;
  // From when on, on the loop's uptime, other clients with the same watch can be expected to see
  // it, too: they lost it when this one did, and ask again at other moments.
  Duration others_see_from() const;

 private:
  // How the server is asked for a list.
  enum class Freshness { consistent, not_older_than_seen };

  // Listing.
  void begin_list();
  void request_page();
  void on_page(Reply reply);
  void on_list_refused(const Response& response);
  void take_page(const Response& response);
  bool finish_list();
  bool turn_down_older(const std::string& version);
  bool is_older_than_seen(const std::string& version) const;
  Freshness freshness() const;

  // Watching.
  void begin_watch();
  void open_watch(WatchRequest request);
  void begin_watch_list();
  void on_event(WatchEvent event);
  void on_initial_event(const WatchEvent& event);
  bool turn_down_bookmark(const Body& object);
  void on_error_event(const Body& object);
  void on_watch_end(Error error);
  void close_watch();
  void count_watch_as_success_or_not();
  void check_silence();

  void relist_or_stream();
  using Step = void (Reflector::*)();
  Step page_to_retry() const;
  void retry(Duration asked, Step step);
  void note_error(Error error);
  void note_success();
  void see_again(Duration from);
  void advance(const std::string& version);

  Api& api_;
  Loop& loop_;
  Random& random_;
  Log& log_;
  ReflectorOptions options_;
  ReflectorSink& sink_;
  ReflectorStatus status_;
  Backoff backoff_;

  // The list in progress.
  std::string list_version_;
  std::string continue_token_;
  uint32_t failures_before_list_ = 0;
  bool whole_list_ = false;  // without pages: a continue token had expired
  Freshness asked_ = Freshness::consistent;
  // The version we have seen is not to be had from this server at the moment.
  bool seen_version_unavailable_ = false;
  bool history_restarted_ = false;
  uint32_t older_in_a_row_ = 0;
  Duration older_since_{0};

  // The watch that is open.
  std::unique_ptr<Watch> watch_;
  // A watch is not destroyed inside its own callback.
  std::unique_ptr<Watch> retired_watch_;
  bool streaming_list_ = false;
  bool stream_supported_ = true;
  Duration watch_began_{0};
  Duration last_sign_of_life_{0};
  bool watch_delivered_ = false;

  std::optional<Duration> blind_since_;  // nothing has come since then but errors
  Duration sees_since_{0};
  Duration list_began_{0};
  // A list that took long has ended, and no watch has had the time yet to report what happened
  // since it began.
  bool old_list_ = false;
  // Until then the events of a watch after a long gap may still be old ones.
  Duration catches_up_until_{0};
  Duration others_see_from_{0};

  bool running_ = false;
  // Callbacks of the current step; reset when the step is over, so that a late one does nothing.
  Scope step_;
  Scope scope_;
};

}  // namespace lockstep::kube

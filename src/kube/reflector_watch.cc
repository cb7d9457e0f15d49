// The second half of the reflector: the watch that follows the list.
#include "kube/reflector.h"

namespace lockstep::kube {
namespace {

// A watch that lived this long was all right, whatever ended it.
constexpr Duration healthy_life = seconds(30);
// One that ended sooner than this was not, whatever it delivered: the next would end as soon.
constexpr Duration shortest_life = seconds(1);

Error error_of_status(const Body& object) {
  Response response{500, object, std::nullopt};
  if (auto status = response.document()) {
    response.code = static_cast<int>(as_integer(find(**status, "code"), 500));
  }
  return response.error();
}

// A bookmark is small: no harm in reading all of it.
struct Bookmark {
  std::string version;
  bool ends_initial_events = false;
};

Bookmark read_bookmark(const Body& object) {
  auto document = Response{200, object, std::nullopt}.document();
  if (!document) return {};
  std::string_view end =
      text_at(**document, "metadata", "annotations", "k8s.io/initial-events-end");
  return {std::string(text_at(**document, "metadata", "resourceVersion")), end == "true"};
}

}  // namespace

void Reflector::begin_watch() {
  WatchRequest request;
  request.resource_version = status_.version;
  request.query = options_.query;
  open_watch(std::move(request));
}

void Reflector::begin_watch_list() {
  sink_.begin_replace();
  WatchRequest request;
  asked_ = freshness();
  if (asked_ == Freshness::not_older_than_seen) request.resource_version = status_.version;
  request.query = options_.query;
  request.query.emplace_back("sendInitialEvents", "true");
  request.query.emplace_back("resourceVersionMatch", "NotOlderThan");
  streaming_list_ = true;
  open_watch(std::move(request));
}

void Reflector::open_watch(WatchRequest request) {
  request.type = options_.type;
  request.ns = options_.ns;
  request.limit = jittered(options_.watch_limit, 1.0, random_);
  ++status_.watches;
  status_.watching = true;
  watch_delivered_ = false;
  watch_began_ = last_sign_of_life_ = loop_.uptime();
  step_.reset();
  WatchHandler handler;
  handler.on_event = step_.bind([this](WatchEvent event) { on_event(std::move(event)); });
  handler.on_end = step_.bind([this](Error error) { on_watch_end(std::move(error)); });
  watch_ = api_.watch(std::move(request), std::move(handler));
  check_silence();
}

// Checks again when the limit would be reached, instead of moving a timer with every event.
void Reflector::check_silence() {
  if (options_.silence_limit <= Duration::zero()) return;
  Duration quiet = loop_.uptime() - last_sign_of_life_;
  if (quiet < options_.silence_limit) {
    loop_.after(options_.silence_limit - quiet, step_.bind([this] { check_silence(); }));
    return;
  }
  ++status_.silent_watches;
  on_watch_end({ErrorKind::unreachable,
                "nothing was heard for " + format_duration(quiet) + "; trying again",
                "watch " + options_.type.full_name()});
}

void Reflector::on_event(WatchEvent event) {
  last_sign_of_life_ = loop_.uptime();
  if (event.type == WatchEventType::error) return on_error_event(event.object);
  watch_delivered_ = true;
  ++status_.events;
  // What happened before it was open comes first.
  see_again(watch_began_);
  note_success();
  if (streaming_list_) return on_initial_event(event);
  if (event.type == WatchEventType::bookmark && turn_down_bookmark(event.object)) return;
  advance(sink_.event(event.type, event.object));
}

// A server that is behind the version we watch from is silent until it has caught up with it, and
// one that was restored from a backup would leave us blind for as long as that takes. A new list
// distinguishes the two.
bool Reflector::turn_down_bookmark(const Body& object) {
  std::string version = read_bookmark(object).version;
  if (!is_older_than_seen(version)) return false;
  note_error({ErrorKind::conflict,
              "the server is at " + version + ", behind what was seen (" + status_.version + ")",
              "watch " + options_.type.full_name()});
  close_watch();
  retry(Duration::zero(), &Reflector::relist_or_stream);
  return true;
}

void Reflector::on_initial_event(const WatchEvent& event) {
  if (event.type != WatchEventType::bookmark) return sink_.item(event.object);
  Bookmark bookmark = read_bookmark(event.object);
  if (!bookmark.ends_initial_events) return;
  list_version_ = std::move(bookmark.version);
  streaming_list_ = false;
  if (list_version_.empty() || turn_down_older(list_version_) || !finish_list()) {
    close_watch();
    retry(Duration::zero(), &Reflector::relist_or_stream);
  }
}

// The stream is of no use after an error, whether its end follows or not.
void Reflector::on_error_event(const Body& object) {
  on_watch_end(error_of_status(object).at("watch " + options_.type.full_name()));
}

void Reflector::count_watch_as_success_or_not() {
  Duration life = loop_.uptime() - watch_began_;
  if (life >= healthy_life || (watch_delivered_ && life >= shortest_life)) backoff_.reset();
  if (life < healthy_life) return;
  see_again(watch_began_);
  old_list_ = false;
}

void Reflector::on_watch_end(Error error) {
  count_watch_as_success_or_not();
  bool was_streaming_list = streaming_list_;
  Duration life = loop_.uptime() - watch_began_;
  close_watch();
  // A server that ends a watch when its time is over does nothing wrong.
  bool clean = error.kind == ErrorKind::timed_out && life >= shortest_life;
  auto next = &Reflector::begin_watch;
  if (was_streaming_list) {
    next = &Reflector::relist_or_stream;
    bool unknown = error.kind == ErrorKind::invalid || error.kind == ErrorKind::unsupported;
    if (unknown) stream_supported_ = false;
    if (error.kind == ErrorKind::expired) seen_version_unavailable_ = true;
    clean = false;
  } else if (error.kind == ErrorKind::expired) {
    next = &Reflector::relist_or_stream;
  } else if (error.kind == ErrorKind::invalid) {
    // Not even a version that the server understands: only a list gives a new one.
    next = &Reflector::relist_or_stream;
    seen_version_unavailable_ = true;
  }
  if (!clean) note_error(std::move(error));
  if (!clean || backoff_.failures() > 0) return retry(Duration::zero(), next);
  step_.reset();
  loop_.post(step_.bind([this, next] { (this->*next)(); }));
}

void Reflector::close_watch() {
  status_.watching = false;
  streaming_list_ = false;
  step_.reset();
  if (!watch_) return;
  retired_watch_ = std::move(watch_);
  loop_.post(scope_.bind([this] { retired_watch_.reset(); }));
}

}  // namespace lockstep::kube

#include "kube/reflector.h"

#include "objects/meta.h"

namespace lockstep::kube {

namespace {

// Shorter than this nothing was missed that would not be caught up with at once.
constexpr Duration moment_of_blindness = minutes(1);
// Kubernetes' own clients double the pause between two tries up to half a minute, and wait for as
// much again by chance.
constexpr Duration no_blindness = seconds(4);
constexpr Duration longest_pause_of_others = minutes(1);

Duration others_see_after(Duration blind_since, Duration until) {
  const Duration blind = until - blind_since;
  if (blind < no_blindness) return Duration::zero();
  return until + std::min(2 * blind, longest_pause_of_others);
}

}  // namespace

Reflector::Reflector(Api& api, Loop& loop, Random& random, Log& log, ReflectorOptions options,
                     ReflectorSink& sink)
    : api_(api),
      loop_(loop),
      random_(random),
      log_(log),
      options_(std::move(options)),
      sink_(sink),
      backoff_(options_.backoff, random) {}

Reflector::~Reflector() = default;

void Reflector::start() {
  if (running_) return;
  running_ = true;
  // A view that is there already only has to catch up.
  if (status_.synced) {
    begin_watch();
  } else {
    relist_or_stream();
  }
}

void Reflector::stop() {
  running_ = false;
  step_.reset();
  close_watch();
}

void Reflector::relist_or_stream() {
  if (options_.watch_list && stream_supported_) {
    begin_watch_list();
  } else {
    begin_list();
  }
}

void Reflector::begin_list() {
  list_began_ = loop_.uptime();
  failures_before_list_ = backoff_.failures();
  whole_list_ = false;
  continue_token_.clear();
  request_page();
}

// A list "not older than" comes from the server's own cache where it can; a consistent one asks the
// store, which is always right and costs more.
Reflector::Freshness Reflector::freshness() const {
  if (status_.version.empty() || seen_version_unavailable_) return Freshness::consistent;
  return Freshness::not_older_than_seen;
}

void Reflector::request_page() {
  Request request = list(options_.type, options_.ns);
  request.query = options_.query;
  request.limit = options_.list_limit;
  if (!whole_list_) request.with("limit", std::to_string(options_.page_size));
  if (!continue_token_.empty()) {
    // The token fixes the version; the server refuses both.
    request.with("continue", continue_token_);
  } else {
    asked_ = whole_list_ ? Freshness::consistent : freshness();
    if (asked_ == Freshness::not_older_than_seen) {
      request.with("resourceVersion", status_.version);
      request.with("resourceVersionMatch", "NotOlderThan");
    }
  }
  api_.call(std::move(request), step_.bind([this](Reply reply) { on_page(std::move(reply)); }));
}

void Reflector::on_page(Reply reply) {
  if (!reply) {
    note_error(std::move(reply).error());
    return retry(Duration::zero(), page_to_retry());
  }
  if (!reply->ok()) return on_list_refused(*reply);
  take_page(*reply);
}

void Reflector::on_list_refused(const Response& response) {
  Error error = response.error();
  bool in_the_middle = !continue_token_.empty();
  note_error(error);
  if (error.kind == ErrorKind::expired && in_the_middle) {
    // The snapshot behind the token is gone. Paging again could take just as long, so all at once.
    whole_list_ = true;
    continue_token_.clear();
    return retry(response.retry_after.value_or(Duration::zero()), &Reflector::request_page);
  }
  if (asked_ == Freshness::not_older_than_seen &&
      (error.kind == ErrorKind::expired || error.kind == ErrorKind::timed_out)) {
    // Compacted away, or too large for a server that lags or was restored: ask the store itself.
    seen_version_unavailable_ = true;
  }
  retry(response.retry_after.value_or(Duration::zero()), page_to_retry());
}

// The same page again: of a large fleet the pages that came are not thrown away. But a list that
// could not be had whole is better tried in pages once more.
Reflector::Step Reflector::page_to_retry() const {
  return whole_list_ ? &Reflector::begin_list : &Reflector::request_page;
}

void Reflector::take_page(const Response& response) {
  bool first = continue_token_.empty();
  if (first) sink_.begin_replace();
  Result<ListPage> page = sink_.page(response.body);
  if (page && page->resource_version.empty()) {
    page = fail(ErrorKind::invalid, "the list has no resourceVersion");
  }
  // A token that does not move on would page indefinitely.
  if (page && !page->continue_token.empty() && page->continue_token == continue_token_) {
    page = fail(ErrorKind::invalid, "the list's continue token does not move on");
  }
  if (!page) {
    note_error(page.error().at("list " + options_.type.full_name()));
    return retry(Duration::zero(), &Reflector::begin_list);
  }
  if (first) {
    if (turn_down_older(page->resource_version)) {
      return retry(Duration::zero(), &Reflector::begin_list);
    }
    // That of the first page: the watch repeats what changed while the others were read.
    list_version_ = page->resource_version;
  }
  // An answer, and no sight yet: what is held is as old as before until the list is whole.
  status_.last_success = loop_.now();
  // Failures between pages that come are not in a row. Those before the list count until a watch
  // lives.
  backoff_.return_to(failures_before_list_);
  continue_token_ = std::move(page->continue_token);
  if (!continue_token_.empty()) return request_page();
  if (!finish_list()) return retry(Duration::zero(), &Reflector::begin_list);
  begin_watch();
}

bool Reflector::is_older_than_seen(const std::string& version) const {
  return compare_versions(version, status_.version) == VersionOrder::older;
}

// True: the list comes from a server that is behind what we have seen. Taking it would undo what we
// know, and a node that was cordoned would seem free again.
bool Reflector::turn_down_older(const std::string& version) {
  history_restarted_ = false;
  if (!is_older_than_seen(version)) {
    older_in_a_row_ = 0;
    return false;
  }
  if (older_in_a_row_++ == 0) older_since_ = loop_.uptime();
  if (asked_ == Freshness::consistent && older_in_a_row_ > options_.older_lists_turned_down &&
      loop_.uptime() - older_since_ >= options_.older_lists_turned_down_for) {
    log_.warning(
        "the cluster's history moved backwards; was etcd restored?",
        {{"resource", options_.type.full_name()}, {"seen", status_.version}, {"listed", version}});
    history_restarted_ = true;
    return false;
  }
  ++status_.older_lists;
  note_error({ErrorKind::conflict,
              "the list is older (" + version + ") than what was seen (" + status_.version + ")",
              "list " + options_.type.full_name()});
  // By turns: the one is for servers that lag, the other for a history that was really restored.
  seen_version_unavailable_ = asked_ == Freshness::not_older_than_seen;
  return true;
}

bool Reflector::finish_list() {
  if (!sink_.end_replace(list_version_, history_restarted_)) {
    // The sink compares with each object that it holds and so may know better than we do.
    ++status_.older_lists;
    note_error({ErrorKind::conflict, "the list is older than what is held",
                "list " + options_.type.full_name()});
    return false;
  }
  status_.version = list_version_;
  old_list_ = loop_.uptime() - list_began_ > moment_of_blindness;
  history_restarted_ = false;
  seen_version_unavailable_ = false;
  older_in_a_row_ = 0;
  if (++status_.lists > 1) ++status_.relists;
  note_success();
  if (!status_.synced) {
    status_.synced = true;
    sees_since_ = loop_.uptime();
    // Posted, so that it may do as it likes with us.
    if (options_.on_synced) loop_.post(scope_.bind(options_.on_synced));
  }
  return true;
}

void Reflector::retry(Duration asked, Step step) {
  step_.reset();
  loop_.after(backoff_.next_at_least(asked), step_.bind([this, step] { (this->*step)(); }));
}

void Reflector::note_error(Error error) {
  ++status_.errors;
  if (!blind_since_) blind_since_ = loop_.uptime();
  log_.debug("reflector", {{"resource", options_.type.full_name()}, {"error", error.text()}});
  status_.last_error = std::move(error);
  status_.last_error_time = loop_.now();
}

void Reflector::note_success() {
  status_.last_success = loop_.now();
  see_again(loop_.uptime());
}

void Reflector::see_again(Duration from) {
  if (!blind_since_) return;
  if (from - *blind_since_ > moment_of_blindness) {
    sees_since_ = from;
    if (status_.watching) catches_up_until_ = loop_.uptime() + moment_of_blindness;
  }
  others_see_from_ = std::max(others_see_from_, others_see_after(*blind_since_, from));
  blind_since_.reset();
}

Duration Reflector::sees_since() const {
  if (!status_.synced) return loop_.uptime();
  if (!blind_since_) return sees_since_;
  // A watch that is open and quiet sees: there are no changes.
  Duration until = status_.watching ? watch_began_ : loop_.uptime();
  return until - *blind_since_ > moment_of_blindness ? until : sees_since_;
}

bool Reflector::is_blind() const {
  if (!status_.synced) return true;
  const Duration now = loop_.uptime();
  if (now < catches_up_until_) return true;
  if (old_list_ && (!status_.watching || now - watch_began_ < moment_of_blindness)) return true;
  return blind_since_ && !status_.watching && now - *blind_since_ > moment_of_blindness;
}

Duration Reflector::others_see_from() const {
  if (!blind_since_) return others_see_from_;
  Duration until = status_.watching ? watch_began_ : loop_.uptime();
  return std::max(others_see_from_, others_see_after(*blind_since_, until));
}

void Reflector::advance(const std::string& version) {
  if (version.empty() || is_older_than_seen(version)) return;
  status_.version = version;
}

}  // namespace lockstep::kube

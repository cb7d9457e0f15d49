#include "kube/events.h"

#include <algorithm>
#include <utility>

namespace lockstep::kube {
namespace {

// Names of objects end at 253 characters, and ours has a dot and sixteen digits behind.
constexpr size_t longest_name_prefix = 253 - 17;

// Merged into what is there; a server that has no such object answers 404.
Json patch_of(const Event& event) {
  return {{"count", event.count},
          {"lastTimestamp", format_rfc3339(event.last)},
          {"message", event.message.view()}};
}

// The conflict is not ours: we name no version. The server's own writes collided, too often.
bool is_worth_another_try(const Response& response, const Error& error) {
  return response.code == 429 || response.code >= 500 || error.kind == ErrorKind::conflict;
}

}  // namespace

EventRecorder::EventRecorder(Api& api, Loop& loop, Random& random, Log& log,
                             EventRecorderOptions options)
    : api_(api),
      loop_(loop),
      log_(log),
      options_(std::move(options)),
      correlator_(options_.limits),
      written_(options_.limits.remembered),
      queue_(loop, random,
             WorkQueueOptions{options_.concurrency, {seconds(1), minutes(1), 2.0, 0.5}},
             [this](const std::string& key) { write(key); }) {}

void EventRecorder::record(const ObjectReference& about, EventType type, std::string_view reason,
                           std::string_view message) {
  ++counts_.recorded;
  Event event;
  event.about = about;
  event.type = type == EventType::warning ? "Warning" : "Normal";
  event.reason = reason;
  event.message = message;
  event.component = options_.component;
  event.host = options_.instance;
  event.reporting_controller = options_.component;
  event.reporting_instance = options_.instance;
  event.first = event.last = loop_.now();
  event.count = 1;
  auto verdict = correlator_.judge(event, loop_.uptime());
  if (!verdict.write) {
    ++counts_.limited;
    return;
  }
  auto waiting = pending_.find(verdict.key);
  if (waiting != pending_.end()) {
    Event& held = waiting->second.event;
    ++held.count;
    held.last = event.last;
    held.message = event.message;
  } else if (pending_.size() >= options_.pending * (type == EventType::warning ? 2 : 1)) {
    ++counts_.overflow;
    return;
  } else {
    // Objects without a namespace have their events where kubectl searches for them.
    event.meta.ns = about.ns.empty() ? Text("default") : about.ns;
    Pending pending{std::move(event)};
    if (const Event* before = written_.find(verdict.key)) {
      pending.exists = true;
      pending.event.meta = before->meta;
      pending.event.first = before->first;
      pending.event.count = before->count + 1;
    } else {
      rename(pending.event);
    }
    pending_.emplace(verdict.key, std::move(pending));
  }
  queue_.add(verdict.key);
}

// "<object>.<time in hex>", as every client names them; always unique, even if a test's clock does
// not move.
void EventRecorder::rename(Event& event) {
  last_name_ = std::max(loop_.now(), last_name_ + nanoseconds(1));
  std::string prefix = event.about.name.str().substr(0, longest_name_prefix);
  while (!prefix.empty() && (prefix.back() == '.' || prefix.back() == '-')) prefix.pop_back();
  event.meta.name = fmt::format("{}.{:x}", prefix, last_name_.unix_nanoseconds);
}

void EventRecorder::write(const std::string& key) {
  auto at = pending_.find(key);
  if (at == pending_.end()) return queue_.done(key);
  Pending& pending = at->second;
  const Event& event = pending.event;
  ++pending.tries;
  Request request =
      pending.exists ? patch(resource::events, event.meta.key(), PatchType::merge, patch_of(event))
                     : create(resource::events, event.meta.ns.str(), to_json(event));
  api_.call(std::move(request), scope_.bind([this, key, count = event.count](Reply reply) {
    on_written(key, count, std::move(reply));
    queue_.done(key);
  }));
}

// `count` is what was written; the event may have happened again since.
void EventRecorder::on_written(const std::string& key, int32_t count, Reply reply) {
  if (!reply) {
    Pending& pending = pending_.at(key);
    if (!pending.exists) pending.unsure = true;
    return try_again(key, Duration::zero());
  }
  if (reply->ok()) return on_success(key, count);
  on_refused(key, *reply);
}

void EventRecorder::on_success(const std::string& key, int32_t count) {
  Pending& pending = pending_.at(key);
  ++(pending.exists ? counts_.patched : counts_.created);
  pending.exists = true;
  pending.unsure = false;
  pending.tries = 0;
  queue_.forget(key);
  // Else it is marked in the queue and written once more.
  if (pending.event.count != count) return;
  written_.put(key, std::move(pending.event));
  pending_.erase(key);
}

void EventRecorder::on_refused(const std::string& key, const Response& response) {
  Pending& pending = pending_.at(key);
  Error error = response.error();
  if (is_worth_another_try(response, error)) {
    return try_again(key, response.retry_after.value_or(Duration::zero()));
  }
  bool gone = pending.exists && error.kind == ErrorKind::not_found;
  bool taken = !pending.exists && error.kind == ErrorKind::exists;
  if (taken && pending.unsure) {
    // It is ours, from the try whose answer was lost. Its count may be older than what we know now.
    pending.exists = true;
    pending.unsure = false;
    return queue_.add(key);
  }
  if ((gone || taken) && pending.tries < options_.tries) {
    // The server forgets events after an hour; or another process had the same thought.
    pending.exists = false;
    written_.erase(key);
    rename(pending.event);
    return queue_.add(key);
  }
  ++counts_.rejected;
  log_.debug("event rejected", {{"event", pending.event.meta.key().text()},
                                {"reason", pending.event.reason.str()},
                                {"error", error.text()}});
  written_.erase(key);
  pending_.erase(key);
  queue_.cancel_delay(key);
}

void EventRecorder::try_again(const std::string& key, Duration asked) {
  Pending& pending = pending_.at(key);
  if (pending.tries < options_.tries) return queue_.retry_at_least(key, asked);
  ++counts_.gave_up;
  if (pending.exists) written_.put(key, std::move(pending.event));
  pending_.erase(key);
  queue_.cancel_delay(key);
}

}  // namespace lockstep::kube

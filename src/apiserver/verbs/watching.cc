#include "apiserver/verbs/watching.h"

#include <algorithm>

#include "base/strings.h"

namespace lockstep::apiserver {

namespace {

bool query_is_true(const kube::Request& request, std::string_view key) {
  const std::string* value = request.find_query(key);
  return value != nullptr && (*value == "true" || *value == "1");
}

// The object as it was, under the version of the change that took it out of the watcher's sight.
StoredPtr restamped(const StoredPtr& before, uint64_t version) {
  Json object = before->json();
  ensure_object(object.as_object(), "metadata")["resourceVersion"] = std::to_string(version);
  return std::make_shared<const Stored>(before->key(), version, std::move(object));
}

}  // namespace

Outcome<WatchFeed> WatchFeed::open(Backend& backend, const ResourceInfo& info,
                                   const kube::Request& request) {
  auto selection = read_selection(info, request);
  if (!selection) return Refusal(selection.error());
  auto wanted = read_version(request);
  if (!wanted) return Refusal(wanted.error());

  WatchFeed feed;
  feed.backend_ = &backend;
  feed.info_ = &info;
  feed.bookmarks_ = query_is_true(request, "allowWatchBookmarks");
  feed.ns_ = request.ns;
  feed.selection_ = std::move(*selection);

  const Shelf& shelf = backend.store.shelf(info.storage);
  bool send_initial = query_is_true(request, "sendInitialEvents");
  const std::string* send_initial_text = request.find_query("sendInitialEvents");
  bool from_any = !*wanted || **wanted == 0;
  if (send_initial && !feed.bookmarks_) {
    return Refusal(invalid(
        ResourceType{"meta.k8s.io", "v1", "ListOptions", "listoptions", false}, "",
        {cause_forbidden("allowWatchBookmarks",
                         "sendInitialEvents requires setting allowWatchBookmarks to true")}));
  }
  if (send_initial || (from_any && send_initial_text == nullptr)) {
    auto [at, end] = shelf.range(request.ns);
    for (; at != end; ++at) {
      if (feed.selection_.matches(*at->second)) feed.initial_.push_back(at->second);
    }
    std::reverse(feed.initial_.begin(), feed.initial_.end());
    feed.initial_version_ = backend.store.version();
    feed.announce_initial_end_ = send_initial;
    feed.position_ = shelf.end_position();
    return feed;
  }
  if (from_any) {
    feed.position_ = shelf.end_position();
    return feed;
  }
  auto position = shelf.position_after(**wanted);
  if (position)
    feed.position_ = *position;
  else
    feed.too_old_ = **wanted;
  return feed;
}

const std::string& WatchFeed::fingerprint() const {
  if (fingerprint_.empty()) {
    fingerprint_ = info_->type.full_name() + "|" + info_->type.version + "|" + ns_ + "|" +
                   selection_.labels.text() + "|" + selection_.fields.text();
  }
  return fingerprint_;
}

bool WatchFeed::ready() const {
  if (ended_) return false;
  return too_old_ != 0 || !initial_.empty() || announce_initial_end_ ||
         position_ < backend_->store.shelf(info_->storage).end_position();
}

bool WatchFeed::is_behind() const {
  return position_ < backend_->store.shelf(info_->storage).first_position();
}

FeedEvent WatchFeed::gone(uint64_t version) const {
  const uint64_t oldest = backend_->store.version();
  FeedEvent event;
  event.type = kube::WatchEventType::error;
  event.note = expired(fmt::format("too old resource version: {} ({})", version, oldest)).json();
  return event;
}

FeedEvent WatchFeed::bookmark() const {
  FeedEvent event;
  event.type = kube::WatchEventType::bookmark;
  JsonObject metadata;
  metadata["resourceVersion"] = std::to_string(backend_->store.version());
  metadata["creationTimestamp"] = nullptr;
  event.note = JsonObject{{"kind", info_->type.kind},
                          {"apiVersion", info_->type.api_version()},
                          {"metadata", metadata}};
  return event;
}

std::optional<FeedEvent> WatchFeed::translate(const Change& change) const {
  bool was = change.before && selection_.matches(*change.before);
  bool is = change.type != kube::WatchEventType::deleted && selection_.matches(*change.object);
  if (!was && !is) return std::nullopt;
  FeedEvent event;
  if (was && is) {
    event.type = kube::WatchEventType::modified;
    event.object = present(*info_, change.object);
  } else if (is) {
    event.type = kube::WatchEventType::added;
    event.object = present(*info_, change.object);
  } else {
    event.type = kube::WatchEventType::deleted;
    bool removed = change.type == kube::WatchEventType::deleted;
    event.object =
        present(*info_, removed ? change.object : restamped(change.before, change.version));
  }
  return event;
}

std::vector<FeedEvent> WatchFeed::next(size_t most) {
  std::vector<FeedEvent> events;
  if (ended_) return events;
  if (too_old_ == 0 && !initial_.empty() && is_behind()) {
    // Its first objects are of long ago: they would be kept only for it.
    initial_.clear();
    ended_ = true;
    events.push_back(gone(initial_version_));
    return events;
  }
  if (too_old_ != 0) {
    ended_ = true;
    events.push_back(gone(too_old_));
    return events;
  }
  while (!initial_.empty() && events.size() < most) {
    // Converted only now: a watch that is not read keeps what is stored anyway.
    events.push_back(FeedEvent{kube::WatchEventType::added, present(*info_, initial_.back()), {}});
    initial_.pop_back();
  }
  if (initial_.empty() && announce_initial_end_ && events.size() < most) {
    FeedEvent end = bookmark();
    JsonObject& metadata = end.note.as_object()["metadata"].as_object();
    metadata["resourceVersion"] = std::to_string(initial_version_);
    metadata["annotations"] = JsonObject{{"k8s.io/initial-events-end", "true"}};
    events.push_back(std::move(end));
    announce_initial_end_ = false;
  }
  const Shelf& shelf = backend_->store.shelf(info_->storage);
  if (is_behind()) {
    // The log was cut off behind a watcher that was too slow.
    ended_ = true;
    events.push_back(gone(initial_version_));
    return events;
  }
  while (initial_.empty() && position_ < shelf.end_position() && events.size() < most) {
    if (auto event = translate(shelf.at(position_++))) events.push_back(std::move(*event));
  }
  return events;
}

}  // namespace lockstep::apiserver

#include "sim/oracle/sight.h"

#include <algorithm>
#include <limits>
#include <variant>

#include "base/strings.h"
#include "data/json.h"

namespace lockstep::sim {

namespace {

// What is younger may be on its way.
constexpr Duration moment = minutes(1);
// Gaps that ended before are of no interest.
constexpr Duration memory = minutes(30);

template <typename Request>
bool selects(const Request& request) {
  return std::any_of(request.query.begin(), request.query.end(), [](const auto& entry) {
    return entry.first == "fieldSelector" || entry.first == "labelSelector";
  });
}

// Of a view that is kept: other lists are questions of a moment.
bool is_page(const kube::Request& request) {
  return request.verb == kube::Verb::list && !selects(request) &&
         request.find_query("limit") != nullptr;
}

uint64_t number_of(const std::string& version) { return parse_unsigned(version).value_or(0); }

}  // namespace

void Sight::begin() { streams_.clear(); }

void Sight::take(const std::string& storage, const apiserver::Change& change) {
  const std::string& ns = change.object->key().ns;
  for (auto at = streams_.lower_bound({storage, "", 0}); at != streams_.end(); ++at) {
    const auto& [name, of_ns, life] = at->first;
    if (name != storage) break;
    if (of_ns.empty() || of_ns == ns) at->second.unseen.push_back({change.version, loop_.uptime()});
  }
}

Sight::Stream* Sight::find(int life, const ResourceType& type, const std::string& ns) {
  auto at = streams_.find({type.full_name(), ns, life});
  return at == streams_.end() ? nullptr : &at->second;
}

void Sight::see_call(int life, const kube::Request& request) {
  if (!is_page(request)) return;
  auto [at, is_new] = streams_.try_emplace({request.type.full_name(), request.ns, life});
  if (is_new) at->second.began = loop_.uptime();
}

void Sight::see_reply(int life, const kube::Request& request, const kube::Reply& reply) {
  if (request.verb != kube::Verb::list || selects(request)) return;
  Stream* stream = find(life, request.type, request.ns);
  if (stream == nullptr) return;
  // No such kind of object: there is nothing to see.
  if (reply && reply->code == 404) return show_all(*stream);
  const auto* page = reply && reply->ok() ? std::get_if<kube::ListBody>(&reply->body) : nullptr;
  if (page == nullptr) {
    stream->last_trouble = loop_.uptime();
    return;
  }
  if (request.find_query("continue") == nullptr) stream->listed_version = page->resource_version;
  if (!page->continue_token.empty()) return;
  show(*stream, stream->listed_version);
  stream->is_synced = true;
  if (is_behind(*stream)) stream->last_trouble = loop_.uptime();
}

void Sight::see_watch(int life, const kube::WatchRequest& request) {
  Stream* stream = selects(request) ? nullptr : find(life, request.type, request.ns);
  // It asks again because the last one told it nothing.
  if (stream != nullptr && is_behind(*stream)) stream->last_trouble = loop_.uptime();
}

void Sight::see_event(int life, const kube::WatchRequest& request, const kube::WatchEvent& event) {
  Stream* stream = selects(request) ? nullptr : find(life, request.type, request.ns);
  if (stream == nullptr) return;
  if (event.type == kube::WatchEventType::error) {
    stream->last_trouble = loop_.uptime();
    return;
  }
  const auto* object = std::get_if<Document>(&event.object);
  if (object == nullptr) return;
  show(*stream, std::string(text_at(**object, "metadata", "resourceVersion")));
  // It tells of what is long past.
  if (is_behind(*stream)) stream->last_trouble = loop_.uptime();
}

void Sight::see_end(int life, const kube::WatchRequest& request, const Error& error) {
  Stream* stream = selects(request) ? nullptr : find(life, request.type, request.ns);
  const bool is_clean = error.kind == ErrorKind::timed_out;
  if (stream != nullptr && !is_clean) stream->last_trouble = loop_.uptime();
}

Duration Sight::unseen_since(const Stream& stream) {
  if (!stream.is_synced) return stream.began;
  return stream.unseen.empty() ? Duration::max() : stream.unseen.front().at;
}

bool Sight::is_behind(const Stream& stream) const {
  const Duration since = unseen_since(stream);
  return since != Duration::max() && loop_.uptime() - since > moment;
}

bool Sight::is_excused(const Stream& stream) const {
  return stream.last_trouble != Duration::min() &&
         loop_.uptime() - stream.last_trouble <= long_blindness;
}

void Sight::show(Stream& stream, const std::string& version) {
  if (is_behind(stream) && is_excused(stream)) {
    stream.gaps.push_back({unseen_since(stream), loop_.uptime()});
  }
  const uint64_t shown = number_of(version);
  while (!stream.unseen.empty() && stream.unseen.front().version <= shown) {
    stream.unseen.pop_front();
  }
  while (!stream.gaps.empty() && loop_.uptime() - stream.gaps.front().until > memory) {
    stream.gaps.pop_front();
  }
}

void Sight::show_all(Stream& stream) {
  show(stream, std::to_string(std::numeric_limits<uint64_t>::max()));
  stream.is_synced = true;
}

Duration Sight::hidden_since(Duration then) const {
  Duration since = Duration::max();
  for (const auto& [key, stream] : streams_) {
    const Duration unseen = unseen_since(stream);
    if (unseen <= then && is_excused(stream)) since = std::min(since, unseen);
    for (const Gap& gap : stream.gaps) {
      if (gap.since <= then && gap.until >= then) since = std::min(since, gap.since);
    }
  }
  return since;
}

}  // namespace lockstep::sim

#include "kube/event_correlator.h"

#include <algorithm>

#include "data/json_scan.h"

namespace lockstep::kube {
namespace {

constexpr std::string_view combined_prefix = "(combined from similar events): ";

// No text of Kubernetes' holds this character, so two different lists of parts are never equal.
std::string join_key(std::initializer_list<std::string_view> parts) {
  std::string key;
  for (std::string_view part : parts) {
    key += part;
    key += '\x1f';
  }
  return key;
}

std::string object_key(const Event& event) {
  const ObjectReference& about = event.about;
  return join_key({event.component, event.host, about.kind, about.ns, about.name, about.uid,
                   about.api_version, about.field_path});
}

}  // namespace

std::string bounded_message(std::string_view text, size_t bytes) {
  std::string clean;
  const char* end = text.data() + text.size();
  size_t cut = 0;  // how much of `clean` leaves room for the mark
  for (const char* at = text.data(); at != end && clean.size() <= bytes;) {
    if (clean.size() + 3 <= bytes) cut = clean.size();
    if (static_cast<unsigned char>(*at) < 0x80) {
      clean += *at++;
      continue;
    }
    const char* next = end_of_utf8_sequence(at, end);
    if (next == nullptr) {
      clean += '?';
      ++at;
    } else {
      clean.append(at, next);
      at = next;
    }
  }
  if (clean.size() <= bytes) return clean;
  clean.resize(cut);
  return clean + "...";
}

EventCorrelator::EventCorrelator(EventLimits limits)
    : limits_(limits), similar_(limits.remembered), buckets_(limits.remembered) {}

EventCorrelator::Verdict EventCorrelator::judge(Event& event, Duration uptime) {
  std::string object = object_key(event);
  std::string group = object + join_key({event.type, event.reason});
  event.message = bounded_message(event.message, limits_.message_bytes);
  std::string key = group + event.message.str();
  if (is_combined(group, event, uptime)) {
    std::string message(combined_prefix);
    message += event.message.view();
    event.message = bounded_message(message, limits_.message_bytes);
    key = group;
  }
  return {take_token(object + event.type.str(), uptime), std::move(key)};
}

bool EventCorrelator::is_combined(const std::string& group, const Event& event, Duration uptime) {
  Similar* similar = similar_.find(group);
  if (similar == nullptr || uptime - similar->last > limits_.similar_window) {
    similar = &similar_.put(group, {});
  }
  similar->last = uptime;
  similar->messages.insert(event.message.str());
  if (similar->messages.size() < limits_.similar) return false;
  // Stays just under the limit, so that the next one that differs is combined, too.
  similar->messages.erase(similar->messages.begin());
  return true;
}

bool EventCorrelator::take_token(const std::string& budget, Duration uptime) {
  Bucket* bucket = buckets_.find(budget);
  if (bucket == nullptr) bucket = &buckets_.put(budget, {limits_.burst, uptime});
  double gained = in_seconds(uptime - bucket->filled) / in_seconds(limits_.refill);
  bucket->tokens = std::min(limits_.burst, bucket->tokens + gained);
  bucket->filled = uptime;
  if (bucket->tokens < 1) return false;
  bucket->tokens -= 1;
  return true;
}

}  // namespace lockstep::kube

#include "sim/oracle/event_log.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "fleet/state.h"
#include "sim/oracle/truth.h"

namespace lockstep::sim {

namespace {

constexpr size_t most_paths = 4;

// 7 virtual minutes and 3.25 seconds: "0:07:03.250".
std::string clock_text(Duration uptime) {
  int64_t milliseconds = uptime / lockstep::milliseconds(1);
  return fmt::format("{}:{:02}:{:02}.{:03}", milliseconds / 3'600'000, milliseconds / 60'000 % 60,
                     milliseconds / 1000 % 60, milliseconds % 1000);
}

bool is_noise(std::string_view path) {
  return path == "metadata.resourceVersion" || path == "metadata.generation" ||
         path == "metadata.managedFields" || path == "metadata.creationTimestamp";
}

// The fields that differ, no deeper than three names.
void add_paths(const Json* before, const Json* after, const std::string& path, int depth,
               std::vector<std::string>& paths) {
  if (before != nullptr && after != nullptr && json_equal(*before, *after)) return;
  if (is_noise(path)) return;
  bool objects = before != nullptr && after != nullptr && before->is_object() && after->is_object();
  if (!objects || depth == 3) {
    paths.push_back(path);
    return;
  }
  std::set<std::string> keys;
  for (const Json* side : {before, after}) {
    for (const auto& [key, value] : side->get_object()) keys.insert(std::string(key));
  }
  for (const auto& key : keys) {
    add_paths(find(*before, key), find(*after, key), path.empty() ? key : path + "." + key,
              depth + 1, paths);
  }
}

std::string changed_fields(const Json& before, const Json& after) {
  std::vector<std::string> paths;
  add_paths(&before, &after, "", 0, paths);
  if (paths.empty()) return "nothing";
  size_t more = paths.size() > most_paths ? paths.size() - most_paths : 0;
  paths.resize(std::min(paths.size(), most_paths));
  return join(paths, ", ") + (more > 0 ? fmt::format(" and {} more", more) : "");
}

bool is_ready_node(const Json& node) { return is_ready_pod(node); }

std::vector<std::string> node_news(const Json& before, const Json& after, const fleet::Keys& keys) {
  std::vector<std::string> news;
  auto from = fleet::state_of(label_of(before, keys.state));
  auto to = fleet::state_of(label_of(after, keys.state));
  if (from != to) {
    news.push_back(fmt::format("{} -> {}", fleet::display_name(from), fleet::display_name(to)));
  }
  bool was = as_bool(find(before, "spec", "unschedulable"));
  bool is = as_bool(find(after, "spec", "unschedulable"));
  if (was != is) news.emplace_back(is ? "cordoned" : "uncordoned");
  if (is_ready_node(before) != is_ready_node(after)) {
    news.emplace_back(is_ready_node(after) ? "Ready" : "not Ready");
  }
  std::string_view failure = annotation_of(after, fleet::failure_annotation);
  if (!failure.empty() && failure != annotation_of(before, fleet::failure_annotation)) {
    news.emplace_back(failure.substr(0, failure.find(':')));
  }
  return news;
}

std::vector<std::string> pod_news(const Json& before, const Json& after) {
  std::vector<std::string> news;
  std::string_view node = text_at(after, "spec", "nodeName");
  if (text_at(before, "spec", "nodeName") != node) news.push_back(fmt::format("on {}", node));
  std::string_view was = text_at(before, "status", "phase");
  std::string_view phase = text_at(after, "status", "phase");
  if (was != phase) news.push_back(fmt::format("{} -> {}", was, phase));
  if (is_ready_pod(before) != is_ready_pod(after)) {
    news.emplace_back(is_ready_pod(after) ? "ready" : "not ready");
  }
  if (!is_terminating(before) && is_terminating(after)) news.emplace_back("deletion begins");
  return news;
}

std::string describe_ledger(const Json& after) {
  const Json* data = find(after, "data");
  if (data == nullptr || !data->is_object()) return "no slots";
  std::vector<std::string> nodes;
  for (const auto& [node, version] : data->get_object()) nodes.emplace_back(node);
  return "slots of " + join(nodes, ", ");
}

}  // namespace

std::string describe_change(std::string_view storage, const Json* before, const Json* after,
                            const fleet::Keys& keys) {
  if (after == nullptr) {
    std::string_view node =
        before == nullptr ? std::string_view() : text_at(*before, "spec", "nodeName");
    return node.empty() ? std::string("gone") : fmt::format("gone from {}", node);
  }
  if (storage == "configmaps" && text_at(*after, "metadata", "name") == "lockstep-slots") {
    return describe_ledger(*after);
  }
  if (before == nullptr) {
    std::string_view node = text_at(*after, "spec", "nodeName");
    return node.empty() ? std::string("created") : fmt::format("created on {}", node);
  }
  std::vector<std::string> news;
  if (storage == "nodes") news = node_news(*before, *after, keys);
  if (storage == "pods") news = pod_news(*before, *after);
  return news.empty() ? changed_fields(*before, *after) : join(news, ", ");
}

EventLog::EventLog(Cluster& cluster, size_t size, fleet::Keys keys)
    : cluster_(cluster),
      size_(size),
      keys_(std::move(keys)),
      listener_(cluster.backend.store.add_listener(
          [this](const std::string& storage, const apiserver::Change& change) {
            on_change(storage, change);
          })) {}

EventLog::~EventLog() { cluster_.backend.store.remove_listener(listener_); }

void EventLog::on_change(const std::string& storage, const apiserver::Change& change) {
  // They only repeat what is shown already.
  if (storage == "events" || storage == "leases.coordination.k8s.io") return;
  const apiserver::Origin& origin = cluster_.backend.store.origin();
  Entry entry;
  entry.at = cluster_.loop.uptime();
  entry.who = origin.who.empty() ? std::string_view("server") : origin.who;
  entry.verb = origin.verb;
  // Of the few that write, all others are constants too; this one is the request's.
  entry.subresource = origin.subresource == "eviction" ? "eviction" : "";
  entry.storage = &*names_.insert(storage).first;
  entry.before = change.before;
  entry.after = change.object;
  entry.gone = change.type == kube::WatchEventType::deleted;
  add(std::move(entry));
}

void EventLog::note(std::string_view who, std::string_view verb, std::string object,
                    std::string what) {
  Entry entry;
  entry.at = cluster_.loop.uptime();
  entry.who = who;
  entry.verb = *names_.insert(std::string(verb)).first;
  entry.object = std::move(object);
  entry.what = std::move(what);
  add(std::move(entry));
}

void EventLog::add(Entry entry) {
  entries_.push_back(std::move(entry));
  if (entries_.size() > size_) entries_.pop_front();
}

std::vector<std::string> EventLog::lines() const {
  std::vector<std::string> lines;
  for (const Entry& entry : entries_) {
    std::string object = entry.object;
    std::string what = entry.what;
    std::string verb(entry.subresource.empty() ? entry.verb : std::string_view("evict"));
    if (entry.storage != nullptr) {
      object = *entry.storage + "/" + entry.after->key().text();
      what = describe_change(*entry.storage, entry.before ? &entry.before->json() : nullptr,
                             entry.gone ? nullptr : &entry.after->json(), keys_);
    }
    lines.push_back(fmt::format("{:>12}  {:<15}  {:<7}  {:<52}  {}", clock_text(entry.at),
                                entry.who, verb, object, what));
  }
  return lines;
}

std::string EventLog::text() const {
  std::string text = fmt::format("{:>12}  {:<15}  {:<7}  {:<52}  {}\n", "time", "who", "verb",
                                 "object", "what changed");
  for (const auto& line : lines()) text += line + "\n";
  return text;
}

kube::CallPlan LoggedFaults::plan_call(const kube::Request& request) {
  kube::CallPlan plan = inner_.plan_call(request);
  if (plan.fault != kube::Fault::none) {
    log_.note(who_, to_string(request.verb), request.describe(),
              fmt::format("FAULT {}", to_string(plan.fault)));
  }
  return plan;
}

kube::WatchPlan LoggedFaults::plan_watch(const kube::WatchRequest& request) {
  kube::WatchPlan plan = inner_.plan_watch(request);
  std::vector<std::string> faults;
  if (plan.begin != kube::Fault::none) faults.emplace_back(to_string(plan.begin));
  auto later = [&](const std::optional<Duration>& when, std::string_view what) {
    if (when) faults.push_back(fmt::format("{} after {}", what, format_duration(*when)));
  };
  later(plan.drop_after, "drops");
  later(plan.expire_after, "expires");
  later(plan.silent_after, "goes silent");
  if (!faults.empty()) {
    log_.note(who_, "watch", request.type.full_name(), "FAULT " + join(faults, ", "));
  }
  return plan;
}

}  // namespace lockstep::sim

#include "audit.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "base/strings.h"
#include "data/json.h"
#include "fleet/keys.h"
#include "fleet/state.h"

namespace lockstep::real {

namespace {

bool is_ready(const Json& node) {
  const Json* conditions = find(node, "status", "conditions");
  if (conditions == nullptr || !conditions->is_array()) return false;
  for (const Json& condition : conditions->get_array()) {
    if (text_at(condition, "type") == "Ready") return text_at(condition, "status") == "True";
  }
  return false;
}

bool is_write(std::string_view verb) {
  return verb == "create" || verb == "update" || verb == "patch" || verb == "delete";
}

Time time_of(const Json& event) {
  return parse_rfc3339(text_at(event, "stageTimestamp")).value_or(Time());
}

std::optional<NodeVersion> read_version(const Json& event) {
  if (text_at(event, "objectRef", "resource") != "nodes") return std::nullopt;
  const std::string_view verb = text_at(event, "verb");
  const int64_t code = as_integer(find(event, "responseStatus", "code"));
  const Json* node = find(event, "responseObject");
  if (!is_write(verb) || code >= 300 || node == nullptr) return std::nullopt;
  NodeVersion version;
  version.node = text_at(event, "objectRef", "name");
  if (version.node.empty()) version.node = text_at(*node, "metadata", "name");
  version.user = text_at(event, "user", "username");
  version.deleted = verb == "delete";
  version.state = text_at(*node, "metadata", "labels", fleet::Keys().state);
  version.cordoned = as_bool(find(*node, "spec", "unschedulable"));
  version.ready = is_ready(*node);
  auto number = parse_integer(text_at(*node, "metadata", "resourceVersion"));
  version.version = static_cast<uint64_t>(number.value_or(0));
  version.at = time_of(event);
  return version;
}

// Each event but what the log's last line lacks, when its writer was killed.
void for_each_event(std::string_view log, const std::function<void(const Json&)>& see) {
  for (std::string_view line : split(log, '\n')) {
    auto event = parse_json(line);
    if (event && text_at(*event, "stage") == "ResponseComplete") see(*event);
  }
}

}  // namespace

std::vector<NodeVersion> node_history(std::string_view log) {
  std::vector<NodeVersion> history;
  for_each_event(log, [&](const Json& event) {
    if (auto version = read_version(event)) history.push_back(std::move(*version));
  });
  std::stable_sort(history.begin(), history.end(), [](const NodeVersion& a, const NodeVersion& b) {
    return a.version < b.version;
  });
  return history;
}

Most most_at_once(const std::vector<NodeVersion>& history) {
  std::set<std::string> active;
  std::set<std::string> unavailable;
  auto put = [](std::set<std::string>& set, const std::string& node, bool in) {
    if (in) {
      set.insert(node);
    } else {
      set.erase(node);
    }
  };
  Most most;
  for (const NodeVersion& version : history) {
    const fleet::State state = fleet::state_of(version.state);
    const bool there = !version.deleted;
    put(active, version.node, there && fleet::is_active(state));
    put(unavailable, version.node,
        there && (version.cordoned || !version.ready || state == fleet::State::cordon));
    most.active = std::max(most.active, active.size());
    most.unavailable = std::max(most.unavailable, unavailable.size());
  }
  return most;
}

std::map<std::string, size_t> calls_of(std::string_view log, std::string_view user) {
  std::map<std::string, size_t> calls;
  for_each_event(log, [&](const Json& event) {
    if (text_at(event, "user", "username") != user) return;
    std::string what =
        fmt::format("{} {}", text_at(event, "verb"), text_at(event, "objectRef", "resource"));
    std::string_view subresource = text_at(event, "objectRef", "subresource");
    if (!subresource.empty()) what += fmt::format("/{}", subresource);
    ++calls[what];
  });
  return calls;
}

std::map<std::string, size_t> deletions(std::string_view log, std::string_view pods,
                                        const std::set<std::string, std::less<>>& users) {
  std::map<std::string, size_t> found;
  for_each_event(log, [&](const Json& event) {
    std::string_view name = text_at(event, "objectRef", "name");
    const bool is_pod = text_at(event, "objectRef", "resource") == "pods" &&
                        text_at(event, "objectRef", "subresource").empty();
    if (!is_pod || !name.starts_with(pods) || text_at(event, "verb") != "delete") return;
    if (as_integer(find(event, "responseStatus", "code")) >= 300) return;
    if (users.contains(text_at(event, "user", "username"))) ++found[std::string(name)];
  });
  return found;
}

std::set<std::string> evicted(std::string_view log, std::string_view user) {
  std::set<std::string> found;
  for_each_event(log, [&](const Json& event) {
    const bool is_eviction = text_at(event, "verb") == "create" &&
                             text_at(event, "objectRef", "subresource") == "eviction";
    if (!is_eviction || text_at(event, "user", "username") != user) return;
    if (as_integer(find(event, "responseStatus", "code")) >= 300) return;
    found.insert(fmt::format("{}/{}", text_at(event, "objectRef", "namespace"),
                             text_at(event, "objectRef", "name")));
  });
  return found;
}

std::vector<Duration> replacement_times(std::string_view log, std::string_view daemon_set,
                                        std::string_view kubelets) {
  std::map<std::string, std::string, std::less<>> node_of;  // of a pod that was bound
  std::map<std::string, Time> free_since;                   // of a node whose pod is gone
  std::vector<Duration> times;
  for_each_event(log, [&](const Json& event) {
    std::string name(text_at(event, "objectRef", "name"));
    if (text_at(event, "objectRef", "resource") != "pods" || !name.starts_with(daemon_set)) return;
    if (as_integer(find(event, "responseStatus", "code")) >= 300) return;
    if (text_at(event, "objectRef", "subresource") == "binding") {
      std::string node(text_at(event, "requestObject", "target", "name"));
      if (auto since = free_since.find(node); since != free_since.end()) {
        times.push_back(time_of(event) - since->second);
        free_since.erase(since);
      }
      node_of[name] = node;
    } else if (text_at(event, "verb") == "delete" &&
               text_at(event, "user", "username") == kubelets) {
      if (auto bound = node_of.find(name); bound != node_of.end()) {
        free_since[bound->second] = time_of(event);
      }
    }
  });
  return times;
}

}  // namespace lockstep::real

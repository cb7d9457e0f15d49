#include "apiserver/verbs/reading.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "apiserver/kinds/kind.h"
#include "base/strings.h"

namespace lockstep::apiserver {

namespace {

std::string query(const kube::Request& request, std::string_view key) {
  const std::string* value = request.find_query(key);
  return value == nullptr ? std::string() : *value;
}

// The fields that the real server indexes, besides metadata.name and metadata.namespace.
bool field_is_selectable(const ResourceInfo& info, std::string_view path) {
  if (path == "metadata.name" || (path == "metadata.namespace" && info.type.namespaced))
    return true;
  const std::vector<std::string_view>& selectable = kind_of(info).selectable;
  return std::find(selectable.begin(), selectable.end(), path) != selectable.end();
}

// A continue token: the version of the first page's snapshot, the last key handed out, and how many
// objects come after it.
struct Position {
  uint64_t version = 0;
  ObjectKey after;
  int64_t remaining = -1;  // not known
};

std::string write_token(const Position& position) {
  JsonObject token;
  token["v"] = "lockstep/v1";
  token["rv"] = position.version;
  token["ns"] = position.after.ns;
  token["name"] = position.after.name;
  token["left"] = position.remaining;
  return base64_encode(print_json(token));
}

// One that this server may have given out: of a version that there was, and of the namespace that
// is asked for.
Outcome<Position> read_token(const std::string& text, const std::string& ns, uint64_t current) {
  auto refuse = [] {
    return Refusal(bad_request("continue key is not valid: it was not given out by this server"));
  };
  auto decoded = base64_decode(text);
  if (!decoded) return refuse();
  auto token = parse_json(*decoded, JsonLimits{4, 4096});
  if (!token || text_at(*token, "v") != "lockstep/v1") return refuse();
  const Json* version = find(*token, "rv");
  const int64_t number = as_integer(version);
  if (number <= 0 || static_cast<uint64_t>(number) > current) return refuse();
  ObjectKey after{std::string(text_at(*token, "ns")), std::string(text_at(*token, "name"))};
  if (after.name.empty() || (!ns.empty() && after.ns != ns)) return refuse();
  return Position{static_cast<uint64_t>(number), std::move(after),
                  std::max<int64_t>(as_integer(find(*token, "left"), -1), -1)};
}

Outcome<int64_t> read_limit(const kube::Request& request) {
  const std::string* text = request.find_query("limit");
  if (text == nullptr || text->empty()) return 0;
  auto limit = parse_integer(*text);
  if (!limit || *limit < 0) {
    return Refusal(bad_request(
        fmt::format("limit: Invalid value: \"{}\": must be a whole number of 0 or more", *text)));
  }
  return *limit;
}

StatusError future_version(uint64_t wanted, uint64_t current) {
  StatusError error;
  error.code = 504;
  error.reason = "Timeout";
  error.message =
      fmt::format("Timeout: Too large resource version: {}, current: {}", wanted, current);
  error.causes.push_back({"ResourceVersionTooLarge", "Too large resource version", ""});
  error.retry_after_seconds = 1;
  return error;
}

StatusError snapshot_gone(bool paging) {
  return expired(paging ? "The provided continue parameter is too old to display a consistent list "
                          "result. You can "
                          "start a new list without the continue parameter."
                        : "The resourceVersion for the provided list is too old.");
}

// Walks a resource store as it was at a version: `then` has what has changed since.
template <typename Visit>
void walk(const Shelf& shelf, const std::map<ObjectKey, StoredPtr>& then, const std::string& ns,
          const std::optional<ObjectKey>& after, Visit visit) {
  auto [now, now_end] = shelf.range(ns);
  if (after) now = shelf.objects().upper_bound(*after);
  auto old = after ? then.upper_bound(*after) : then.begin();
  auto in_namespace = [&](const ObjectKey& key) { return ns.empty() || key.ns == ns; };
  while (true) {
    while (old != then.end() && !in_namespace(old->first)) ++old;
    bool have_now = now != now_end && now != shelf.objects().end() && in_namespace(now->first);
    bool have_old = old != then.end();
    if (!have_now && !have_old) return;
    if (have_old && (!have_now || old->first <= now->first)) {
      if (have_now && old->first == now->first) ++now;
      StoredPtr stored = old->second;
      ++old;
      if (stored && !visit(stored)) return;
    } else {
      StoredPtr stored = now->second;
      ++now;
      if (!visit(stored)) return;
    }
  }
}

// The one node whose objects are asked for; null: not only one's.
const std::string* selected_node(const Selection& selection) {
  for (const auto& requirement : selection.fields.requirements()) {
    bool names_one = requirement.path == "spec.nodeName" && requirement.equal;
    if (names_one && !requirement.value.empty()) return &requirement.value;
  }
  return nullptr;
}

}  // namespace

bool Selection::matches(const Stored& object) const {
  if (!ns.empty() && object.key().ns != ns) return false;
  return (labels.empty() || labels.matches_object(object.json())) &&
         (fields.empty() || fields.matches_object(object.json()));
}

Outcome<Selection> read_selection(const ResourceInfo& info, const kube::Request& request) {
  Selection selection;
  selection.ns = request.ns;
  auto labels = LabelSelector::parse(query(request, "labelSelector"));
  if (!labels) return Refusal(bad_request(labels.error().text()));
  auto fields = FieldSelector::parse(query(request, "fieldSelector"));
  if (!fields) return Refusal(bad_request(fields.error().text()));
  for (const auto& requirement : fields->requirements()) {
    if (!field_is_selectable(info, requirement.path)) {
      return Refusal(bad_request(fmt::format("field label not supported: {}", requirement.path)));
    }
  }
  selection.labels = std::move(*labels);
  selection.fields = std::move(*fields);
  // A watch or list of one object by its name (kubectl wait, kubectl get NAME -w).
  return selection;
}

Outcome<std::optional<uint64_t>> read_version(const kube::Request& request) {
  const std::string* text = request.find_query("resourceVersion");
  if (text == nullptr || text->empty()) return std::optional<uint64_t>();
  auto version = parse_unsigned(*text);
  if (!version) {
    return Refusal(bad_request(fmt::format(
        "resourceVersion: Invalid value: \"{}\": must be a version that this server gave out",
        *text)));
  }
  return std::optional<uint64_t>(*version);
}

Outcome<Answer> get_object(Backend& backend, const ResourceInfo& info,
                           const kube::Request& request) {
  auto version = read_version(request);
  if (!version) return Refusal(version.error());
  if (*version && **version > backend.store.version()) {
    return Refusal(future_version(**version, backend.store.version()));
  }
  StoredPtr stored = backend.store.shelf(info.storage).find(ObjectKey{request.ns, request.name});
  if (!stored) return Refusal(not_found(info.type, request.name));
  Answer answer;
  answer.info = &info;
  answer.body = present(info, stored);
  return answer;
}

Outcome<Answer> list_objects(Backend& backend, const ResourceInfo& info,
                             const kube::Request& request) {
  auto selection = read_selection(info, request);
  if (!selection) return Refusal(selection.error());
  auto limit = read_limit(request);
  if (!limit) return Refusal(limit.error());
  auto wanted = read_version(request);
  if (!wanted) return Refusal(wanted.error());

  const Shelf& shelf = backend.store.shelf(info.storage);
  std::optional<ObjectKey> after;
  // Of all that are to be shown, when that is known without counting them.
  int64_t total = -1;
  uint64_t snapshot = backend.store.version();
  std::string token = query(request, "continue");
  if (!token.empty()) {
    auto position = read_token(token, request.ns, snapshot);
    if (!position) return Refusal(position.error());
    snapshot = position->version;
    after = position->after;
    total = position->remaining;
  } else if (*wanted) {
    if (**wanted > snapshot) return Refusal(future_version(**wanted, snapshot));
    if (query(request, "resourceVersionMatch") == "Exact") snapshot = **wanted;
  }
  std::map<ObjectKey, StoredPtr> then;
  if (snapshot != backend.store.version()) {
    auto changed = shelf.changed_since(snapshot);
    if (!changed) return Refusal(snapshot_gone(!token.empty()));
    then = std::move(*changed);
  } else if (token.empty() && request.ns.empty()) {
    total = static_cast<int64_t>(shelf.objects().size());
  }

  ListResult result;
  result.version = snapshot;
  bool more = false;
  auto visit = [&](const StoredPtr& stored) {
    if (!selection->matches(*stored)) return true;
    if (*limit > 0 && result.items.size() == static_cast<size_t>(*limit)) {
      more = true;
      // Only a list without selectors says how many are left. They are counted on the first page at
      // most: otherwise a list in many pages would walk through everything for each.
      ++result.remaining;
      return selection->everything() && total < 0;
    }
    result.items.push_back(present(info, stored));
    return true;
  };
  const std::string* node = selected_node(*selection);
  if (node != nullptr && then.empty() && !after) {
    for (const StoredPtr& stored : shelf.on_node(*node)) {
      if (!visit(stored)) break;
    }
  } else {
    walk(shelf, then, request.ns, after, visit);
  }
  if (more && total >= 0) result.remaining = total - static_cast<int64_t>(result.items.size());
  if (!selection->everything()) result.remaining = 0;
  if (more) {
    result.continue_token =
        write_token(Position{snapshot, result.items.back()->key(),
                             selection->everything() ? result.remaining : int64_t{-1}});
  }
  Answer answer;
  answer.info = &info;
  answer.body = std::move(result);
  return answer;
}

}  // namespace lockstep::apiserver

#include "apiserver/door/front.h"

#include <algorithm>

#include "apiserver/present/discovery.h"
#include "apiserver/present/openapi_protobuf.h"
#include "apiserver/present/protobuf.h"
#include "apiserver/present/table.h"
#include "base/strings.h"
#include "data/yaml.h"
#include "http/prometheus.h"

namespace lockstep::apiserver {

namespace {

constexpr size_t piece_size = 256 << 10;
constexpr size_t most_events_at_once = 4096;
// Of one piece of a watch: what a client that does not read holds of our memory.
constexpr size_t watch_piece_size = 64 << 10;
constexpr size_t kept_batches = 64;
// Groups and versions that documents are kept of.
constexpr size_t most_documents = 256;

std::string written(const Json& value, const Wanted& wanted) {
  if (wanted.yaml) return print_yaml(value);
  return wanted.pretty ? print_json_pretty(value) : print_json(value);
}

HttpAnswer document(const Json& value, const Wanted& wanted, int code = 200) {
  HttpAnswer answer;
  answer.code = code;
  answer.content_type = wanted.yaml ? "application/yaml" : "application/json";
  answer.body = written(value, wanted);
  return answer;
}

HttpAnswer plain(std::string text, int code = 200) {
  HttpAnswer answer;
  answer.code = code;
  answer.content_type = "text/plain; charset=utf-8";
  answer.body = std::move(text);
  return answer;
}

std::string verb_name(const HttpRequest& request, const Route& route) {
  if (route.watch) return "WATCH";
  if (route.request.verb == kube::Verb::list) return "LIST";
  if (route.request.verb == kube::Verb::remove_collection) return "DELETECOLLECTION";
  return request.method;
}

Json list_header(const ResourceInfo& info, const ListResult& list, Shape shape) {
  JsonObject metadata{{"resourceVersion", std::to_string(list.version)}};
  if (!list.continue_token.empty()) metadata["continue"] = list.continue_token;
  if (list.remaining > 0) metadata["remainingItemCount"] = list.remaining;
  bool partial = shape == Shape::metadata;
  return JsonObject{{"kind", partial ? "PartialObjectMetadataList" : info.type.kind + "List"},
                    {"apiVersion", partial ? "meta.k8s.io/v1" : info.type.api_version()},
                    {"metadata", std::move(metadata)}};
}

Duration watch_limit(const kube::Request& request) {
  if (const std::string* text = request.find_query("timeoutSeconds")) {
    if (auto value = parse_integer(*text); value && *value > 0)
      return seconds(std::min<int64_t>(*value, 24 * 3600));
  }
  return minutes(30);
}

// The health pages: the server is well while it answers.
std::optional<HttpAnswer> health(const Target& target) {
  if (target.path.size() != 1) return std::nullopt;
  const std::string& page = target.path[0];
  if (page != "healthz" && page != "livez" && page != "readyz") return std::nullopt;
  bool verbose = std::any_of(target.query.begin(), target.query.end(),
                             [](const auto& pair) { return pair.first == "verbose"; });
  return plain(verbose ? fmt::format("[+]ping ok\n[+]store ok\n{} check passed\n", page) : "ok");
}

std::string aggregated_version(std::string_view accept) {
  if (accept.find("as=APIGroupDiscoveryList") == std::string_view::npos) return {};
  return accept.find("v=v2;") != std::string_view::npos ||
                 accept.find("v=v2,") != std::string_view::npos ||
                 (accept.size() >= 4 && accept.substr(accept.size() - 4) == "v=v2")
             ? "v2"
             : "v2beta1";
}

}  // namespace

HttpAnswer Front::refuse(const StatusError& error) {
  // No handler, so no Status: clients then print the request themselves.
  if (error.code == 404 && error.kind.empty()) {
    HttpAnswer answer;
    answer.code = 404;
    answer.content_type = "text/plain; charset=utf-8";
    answer.body = "404 page not found\n";
    return answer;
  }
  HttpAnswer answer = document(error.json(), Wanted{}, error.code);
  if (error.retry_after_seconds)
    answer.headers.emplace_back("Retry-After", std::to_string(*error.retry_after_seconds));
  return answer;
}

HttpAnswer Front::answer(const HttpRequest& request) {
  HttpAnswer answer = undisturbed(request);
  if (disturbance_) disturbance_(request, answer);
  return answer;
}

HttpAnswer Front::undisturbed(const HttpRequest& request) {
  auto target = parse_target(request.target);
  if (!target) return refuse(target.error());
  if (auto about = answer_about(request, *target)) return std::move(*about);
  if (is_resource_path(target->path)) return answer_resource(request, *target);
  return refuse(path_not_found());
}

const Json& Front::cached(const std::string& key, const std::function<Json()>& make) {
  if (documents_generation_ != backend_.table.generation()) {
    documents_.clear();
    documents_generation_ = backend_.table.generation();
  }
  auto found = documents_.find(key);
  if (found == documents_.end()) {
    if (documents_.size() >= most_documents) documents_.clear();
    found = documents_.emplace(key, make()).first;
  }
  return found->second;
}

std::optional<HttpAnswer> Front::answer_about(const HttpRequest& request, const Target& target) {
  const auto& path = target.path;
  auto health_page = health(target);
  if (health_page) return health_page;
  bool discovery = path.empty() || path[0] == "version" || path[0] == "metrics" ||
                   path[0] == "openapi" || (path[0] == "api" && path.size() <= 2) ||
                   (path[0] == "apis" && path.size() <= 3);
  if (!discovery) return std::nullopt;
  if (request.method != "GET" && request.method != "HEAD") {
    return refuse(method_not_allowed(ResourceType{}, lower(request.method)));
  }
  std::string accept = request.accept;
  bool openapi_v2_wanted = path.size() == 2 && path[0] == "openapi" && path[1] == "v2";
  if (openapi_v2_wanted) accept = "application/json";
  auto wanted = negotiate(
      accept.find("as=APIGroupDiscoveryList") == std::string::npos ? accept : "*/*", nullptr);
  if (!wanted) return refuse(wanted.error());
  const ResourceTable& table = backend_.table;
  if (path.empty()) {
    return document(
        JsonObject{{"paths", JsonArray{"/api", "/apis", "/healthz", "/livez", "/metrics",
                                       "/openapi/v2", "/openapi/v3", "/readyz", "/version"}}},
        *wanted);
  }
  if (path[0] == "version" && path.size() == 1) return document(server_version(), *wanted);
  if (path[0] == "metrics" && path.size() == 1) {
    HttpAnswer answer = plain(metrics());
    answer.content_type = http::prometheus_type;
    return answer;
  }
  // As it was understood: "//" and "%6f" would be other keys for the same document.
  const std::string key = join(path, "/");
  if (path[0] == "openapi") {
    if (openapi_v2_wanted) {
      const Json& json = cached(key, [&] { return openapi_v2(table, backend_.schemas); });
      if (!is_openapi_protobuf(request.accept)) return document(json, *wanted);
      HttpAnswer answer;
      answer.content_type = openapi_protobuf_type;
      answer.body = openapi_protobuf(json);
      return answer;
    }
    if (path.size() == 2 && path[1] == "v3")
      return document(cached(key, [&] { return openapi_v3_index(table); }), *wanted);
    bool core = path.size() == 4 && path[1] == "v3" && path[2] == "api";
    bool grouped = path.size() == 5 && path[1] == "v3" && path[2] == "apis";
    if (!core && !grouped) return refuse(path_not_found());
    std::string group = grouped ? path[3] : "";
    std::string version = path.back();
    if (!table.has_group_version(group, version)) return refuse(path_not_found());
    return document(
        cached(
            key,
            [&] { return openapi_v3(table, backend_.schemas, group, version).value_or(Json()); }),
        *wanted);
  }
  if (path.size() == 1) {
    std::string aggregated = aggregated_version(request.accept);
    if (!aggregated.empty()) {
      HttpAnswer answer = document(
          cached(key + "|" + aggregated,
                 [&] { return aggregated_discovery(table, path[0] == "api", aggregated); }),
          *wanted);
      answer.content_type =
          "application/json;g=apidiscovery.k8s.io;v=" + aggregated + ";as=APIGroupDiscoveryList";
      return answer;
    }
    return document(
        path[0] == "api" ? api_versions() : cached(key, [&] { return api_groups(table); }),
        *wanted);
  }
  std::optional<Json> found;
  if (path[0] == "api")
    found = api_resources(table, "", path[1]);
  else if (path.size() == 2)
    found = api_group(table, path[1]);
  else
    found = api_resources(table, path[1], path[2]);
  if (!found) return refuse(path_not_found());
  return document(*found, *wanted);
}

HttpAnswer Front::answer_resource(const HttpRequest& request, const Target& target) {
  RequestKind kind;
  kind.client = request.caller.agent.empty()
                    ? "unknown"
                    : std::string(split(request.caller.agent, '/').front());
  kind.verb = request.method;
  auto counted = [&](HttpAnswer answer) {
    kind.code = answer.code;
    counts_.add(kind);
    return answer;
  };
  auto route = route_resource(backend_.table, request.method, target);
  if (!route) return counted(refuse(route.error()));
  kind.verb = verb_name(request, *route);
  kind.resource = route->info->type.full_name();
  kind.subresource = route->request.subresource;
  auto wanted = negotiate(request.accept, &route->request);
  if (!wanted) return counted(refuse(wanted.error()));
  if (route->watch) return counted(answer_watch(request, *route, *wanted));
  bool is_patch = route->request.verb == kube::Verb::patch;
  if (is_patch) {
    auto type = patch_type_of(request.content_type);
    if (!type) return counted(refuse(type.error()));
    route->request.patch_type = *type;
  }
  auto body = is_protobuf(request.content_type) && !request.body.empty()
                  ? read_protobuf_body(request.body)
                  : read_body(request.body, request.content_type, is_patch);
  if (!body) return counted(refuse(body.error()));
  route->request.body = std::move(*body);
  HttpAnswer answer = render(handle(backend_, route->request, request.caller), *wanted);
  if (request.method == "HEAD") {
    answer.body.clear();
    answer.more = nullptr;
  }
  return counted(std::move(answer));
}

Outcome<Document> Front::read_protobuf_body(const std::string& body) const {
  auto object = read_protobuf(body, backend_.schemas);
  if (!object) return Refusal(object.error());
  if (!is_valid_utf8(print_json(*object)))
    return Refusal(bad_request("the body is no valid UTF-8"));
  return std::make_shared<const Json>(std::move(*object));
}

HttpAnswer Front::answer_watch(const HttpRequest&, Route& route, const Wanted& wanted) {
  auto feed = WatchFeed::open(backend_, *route.info, route.request);
  if (!feed) return refuse(feed.error());
  HttpAnswer answer;
  answer.watch =
      std::make_shared<WatchStream>(std::move(*feed), wanted, watch_limit(route.request));
  return answer;
}

HttpAnswer Front::render(Outcome<Answer> outcome, const Wanted& wanted) {
  if (!outcome) return refuse(outcome.error());
  HttpAnswer answer;
  const ResourceInfo* info = outcome->info;
  if (auto* list = std::get_if<ListResult>(&outcome->body)) {
    answer = render_list(*info, std::move(*list), wanted);
  } else if (auto* stored = std::get_if<StoredPtr>(&outcome->body)) {
    const StoredPtr& object = *stored;
    if (wanted.shape == Shape::table) {
      std::string version = std::to_string(object->version());
      answer = document(make_table(*info, {object->document()}, version, "", 0, wanted.include,
                                   true, backend_.loop.now()),
                        wanted);
    } else if (wanted.shape == Shape::metadata) {
      answer = document(partial_metadata(object->json()), wanted);
    } else if (wanted.yaml || wanted.pretty) {
      answer = document(object->json(), wanted);
    } else {
      answer.body = object->bytes();
    }
  } else {
    answer = document(std::get<Json>(outcome->body), wanted);
  }
  answer.code = outcome->code;
  for (const auto& warning : outcome->warnings) {
    std::string quoted;
    for (char c : warning) {
      if (c == '"' || c == '\\') quoted += '\\';
      if (static_cast<unsigned char>(c) >= 0x20) quoted += c;
    }
    answer.headers.emplace_back("Warning", fmt::format("299 - \"{}\"", quoted));
  }
  return answer;
}

HttpAnswer Front::render_list(const ResourceInfo& info, ListResult list, const Wanted& wanted) {
  if (wanted.shape == Shape::table) {
    std::vector<Document> objects;
    objects.reserve(list.items.size());
    for (const auto& item : list.items) objects.push_back(item->document());
    return document(make_table(info, objects, std::to_string(list.version), list.continue_token,
                               list.remaining, wanted.include, true, backend_.loop.now()),
                    wanted);
  }
  Json header = list_header(info, list, wanted.shape);
  if (wanted.yaml || wanted.pretty) {
    JsonArray items;
    for (const auto& item : list.items) {
      items.push_back(wanted.shape == Shape::metadata ? partial_metadata(item->json())
                                                      : item->json());
    }
    header.as_object()["items"] = std::move(items);
    return document(header, wanted);
  }
  // Streamed: the header without its closing brace, then the objects' own text.
  HttpAnswer answer;
  std::string opening = print_json(header);
  opening.back() = ',';
  opening += "\"items\":[";
  bool partial = wanted.shape == Shape::metadata;
  answer.more = [opening = std::move(opening), items = std::move(list.items), partial,
                 at = size_t{0}, closed = false](std::string& out) mutable {
    if (closed) return false;
    if (at == 0) out += opening;
    while (at < items.size() && out.size() < piece_size) {
      if (at > 0) out += ',';
      out += partial ? print_json(partial_metadata(items[at]->json())) : items[at]->bytes();
      items[at].reset();
      ++at;
    }
    if (at == items.size()) {
      out += "]}";
      closed = true;
    }
    return true;
  };
  return answer;
}

void Front::write_event(WatchStream& stream, const FeedEvent& event, std::string& out) {
  out += "{\"type\":\"";
  out += to_string(event.type);
  out += "\",\"object\":";
  const Wanted& wanted = stream.wanted_;
  const ResourceInfo& info = stream.feed_.info();
  if (!event.object) {
    bool is_table = wanted.shape == Shape::table && event.type == kube::WatchEventType::bookmark;
    if (is_table) {
      Json table =
          make_table(info, {}, std::string(text_at(event.note, "metadata", "resourceVersion")), "",
                     0, wanted.include, stream.first_, backend_.loop.now());
      out += print_json(table);
    } else {
      out += print_json(event.note);
    }
  } else if (wanted.shape == Shape::table) {
    out += print_json(make_table(info, {event.object->document()},
                                 std::to_string(event.object->version()), "", 0, wanted.include,
                                 stream.first_, backend_.loop.now()));
    stream.first_ = false;
  } else if (wanted.shape == Shape::metadata) {
    out += print_json(partial_metadata(event.object->json()));
  } else {
    out += event.object->bytes();
  }
  out += "}\n";
}

std::shared_ptr<const std::string> Front::next_events(WatchStream& stream) {
  WatchFeed& feed = stream.feed_;
  // Hundreds of watches of the same thing are at the same place: the text is made once for all.
  bool sharable = feed.in_log() && stream.wanted_.shape == Shape::object;
  uint64_t from = feed.position();
  if (sharable) {
    for (const Batch& batch : batches_) {
      if (batch.from == from && batch.fingerprint == feed.fingerprint() &&
          batch.to <= backend_.store.shelf(stream.storage()).end_position()) {
        feed.skip_to(batch.to);
        return batch.text;
      }
    }
  }
  std::string text;
  size_t events = 0;
  while (events < most_events_at_once && text.size() < watch_piece_size && feed.ready()) {
    // One at a time: how long the text is going to be is not known before.
    for (const FeedEvent& event : feed.next(1)) write_event(stream, event, text);
    ++events;
  }
  auto shared = text.empty() ? nullptr : std::make_shared<const std::string>(std::move(text));
  if (sharable && !feed.ended()) {
    if (batches_.size() >= kept_batches) batches_.erase(batches_.begin());
    batches_.push_back(Batch{feed.fingerprint(), from, feed.position(), shared});
  }
  return shared;
}

std::shared_ptr<const std::string> Front::bookmark(WatchStream& stream) {
  std::string text;
  write_event(stream, stream.feed_.bookmark(), text);
  return std::make_shared<const std::string>(std::move(text));
}

std::string Front::metrics() const {
  http::PrometheusText out;
  counts_.write_metrics(out);
  out.gauge("apiserver_storage_objects", "Objects stored, by resource.");
  for (const auto& storage : backend_.store.storages()) {
    out.sample(backend_.store.shelf(storage).objects().size(), {{"resource", storage}});
  }
  return out.text();
}

}  // namespace lockstep::apiserver

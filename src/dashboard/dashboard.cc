#include "dashboard/dashboard.h"

#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/sha256.h"
#include "base/strings.h"
#include "dashboard/page_rules.h"
#include "data/gzip.h"
#include "http/codes.h"

namespace lockstep::dashboard {

namespace {

constexpr int smallest = 9;  // of gzip's levels
constexpr size_t gzip_threshold = 1400;
constexpr std::string_view events_path = "/api/events";
constexpr std::string_view nodes_prefix = "/api/nodes/";
constexpr size_t tag_length = 16;

constexpr std::string_view not_built =
    "<!doctype html><title>Lockstep</title><p>This program was built without its page. "
    "<code>make build</code> makes it (npm must reach its registry), or in web/: "
    "<code>npm ci &amp;&amp; npm run build</code>, and then build the program again. "
    "What the page would show is at <a href=\"/api/snapshot\">/api/snapshot</a>.";

std::string content_type_of(std::string_view path) {
  auto ends_with = [&](std::string_view end) { return path.ends_with(end); };
  if (ends_with(".html")) return "text/html; charset=utf-8";
  if (ends_with(".js")) return "text/javascript; charset=utf-8";
  if (ends_with(".css")) return "text/css; charset=utf-8";
  if (ends_with(".svg")) return "image/svg+xml";
  return "application/octet-stream";
}

http::Answer wrong_method() {
  http::Answer answer = refuse_page(405, "method not allowed");
  answer.headers.emplace_back("Allow", "GET, HEAD, POST");
  return answer;
}

}  // namespace

Result<std::unique_ptr<Dashboard>> Dashboard::start(EventLoop& loop, Log& log, FleetModel& model,
                                                    Source& source, const PageFiles& page,
                                                    DashboardOptions options) {
  std::unique_ptr<Dashboard> dashboard(
      new Dashboard(loop, log, model, source, page, std::move(options)));
  LOCKSTEP_TRY(dashboard->server_,
               http::Server::listen(
                   loop, log, dashboard->options_.address,
                   [raw = dashboard.get()](const http::Request& request,
                                           const http::Server::Respond& respond) {
                     raw->handle(request, respond);
                   },
                   page_server_options()));
  if (!dashboard->server_->is_loopback()) {
    log.warning("the dashboard is reachable from other machines, without encryption",
                {{"address", dashboard->options_.address}});
  }
  return dashboard;
}

Dashboard::Dashboard(EventLoop& loop, Log& log, FleetModel& model, Source& source,
                     const PageFiles& page, DashboardOptions options)
    : loop_(loop),
      log_(log),
      model_(model),
      source_(source),
      options_(std::move(options)),
      events_(options_.epoch),
      streams_(loop, events_, options_.heartbeat) {
  for (const auto& [path, text] : page) {
    files_["/" + path] = {content_type_of(path), text, Gzip(smallest).add(text, true),
                          "\"" + sha256_hex(text).substr(0, tag_length) + "\""};
  }
  model_.set_part("about",
                  JsonObject{{"version", options_.version}, {"cluster", options_.cluster}});
}

std::string Dashboard::url() const {
  std::string host = options_.address.substr(0, options_.address.rfind(':'));
  if (host.empty() || host == "0.0.0.0" || host == "[::]") host = "localhost";
  return fmt::format("http://{}:{}/", host, port());
}

void Dashboard::publish() {
  auto changes = model_.take_changes(loop_.now());
  if (!changes) return;
  events_.push(model_.sequence(), *changes);
  streams_.wake();
}

http::Answer Dashboard::zip(const http::Request& request, std::string body) {
  http::Answer answer = json_answer(std::move(body));
  if (request.accepts_gzip() && answer.body.size() > gzip_threshold) {
    answer.body = Gzip().add(answer.body, true);
    answer.headers.emplace_back("Content-Encoding", "gzip");
  }
  return answer;
}

JsonCallback Dashboard::answer_with(http::Server::Respond respond) {
  return [respond = std::move(respond)](Result<Json> found) {
    respond(found ? json_answer(print_json(*found))
                  : refuse_page(http::code_of(found.error().kind), found.error().text()));
  };
}

void Dashboard::handle(const http::Request& request, const http::Server::Respond& respond) {
  if (int code = refusal_of(request, server_->is_loopback()); code != 0) {
    return respond(refuse_page(code, code == 421 ? "this server answers only to localhost"
                                                 : "the request is not allowed in this form"));
  }
  const std::string_view path = request.path();
  if (request.method == "POST") return handle_post(request, respond);
  if (path == events_path && request.method == "GET") return respond(streams_.open(request));
  if (path == "/api/snapshot") return respond(snapshot(request));
  if (path == "/api/history") {
    return respond(zip(request, model_.history(loop_.now(), request.parameter("changes") != "0")));
  }
  if (path == "/api/plan") {
    return source_.plan(request.parameter("assume") == "1", answer_with(respond));
  }
  if (path.starts_with(nodes_prefix)) {
    auto name = url_decode(path.substr(nodes_prefix.size()), false);
    if (!name) return respond(refuse_page(400, "invalid node name"));
    return source_.node(*name, answer_with(respond));
  }
  if (path.starts_with("/api/")) return respond(refuse_page(404, "not found"));
  respond(file(request));
}

void Dashboard::handle_post(const http::Request& request, const http::Server::Respond& respond) {
  const std::string_view path = request.path();
  if (path != "/api/access" && path != "/api/actions") return respond(wrong_method());
  std::string token(token_of(request));
  if (token.empty()) {
    return respond(refuse_page(401, "sign in with a token of the cluster first"));
  }
  // Each is a connection to the API server, and every user of this machine may ask.
  if (acting_ >= options_.actions_at_once) {
    return respond(refuse_page(429, "too many actions at the same time; try again"));
  }
  auto answer = [this, done = answer_with(respond)](Result<Json> found) {
    --acting_;
    done(std::move(found));
  };
  if (path == "/api/access") {
    ++acting_;
    return source_.access(token, scope_.bind(std::move(answer)));
  }
  auto action = operate::read_action(request.body);
  if (!action) return respond(refuse_page(400, action.error().text()));
  ++acting_;
  log_.info("a page asks for", {{"verb", action->verb}, {"name", action->name}});
  source_.act(token, *action, scope_.bind(std::move(answer)));
}

http::Answer Dashboard::snapshot(const http::Request& request) {
  publish();
  std::string body = model_.snapshot(loop_.now());
  return zip(request, fmt::format("{{\"id\":\"{}\",{}", events_.id(model_.sequence()),
                                  std::string_view(body).substr(1)));
}

http::Answer Dashboard::file(const http::Request& request) const {
  const std::string_view path = request.path() == "/" ? "/index.html" : request.path();
  auto at = files_.find(path);
  http::Answer answer;
  if (at == files_.end()) {
    if (path != "/index.html") return refuse_page(404, "page not found");
    answer.code = 503;
    answer.content_type = content_type_of(path);
    answer.headers = {{"Cache-Control", "no-store"}};
    answer.body = std::string(not_built);
    return answer;
  }
  const StaticFile& file = at->second;
  answer.content_type = file.content_type;
  answer.headers = {{"Cache-Control", "no-cache"}, {"ETag", file.tag}};
  if (request.header("if-none-match") == file.tag) {
    answer.code = 304;
    return answer;
  }
  if (request.accepts_gzip()) {
    answer.headers.emplace_back("Content-Encoding", "gzip");
    answer.headers.emplace_back("Vary", "Accept-Encoding");
    answer.body = file.zipped;
  } else {
    answer.body = file.plain;
  }
  return answer;
}

}  // namespace lockstep::dashboard

#include "http/status_pages.h"

#include <utility>

#include "http/prometheus.h"

namespace lockstep::http {

namespace {

ServerOptions status_options() {
  ServerOptions options;
  options.head_bytes = 8 << 10;
  options.body_bytes = 8 << 10;
  options.connections = 64;
  options.request_limit = seconds(10);
  options.write_limit = seconds(10);
  options.keep_alive = false;
  return options;
}

Answer answer_to(const StatusPages& pages, const Request& request) {
  const auto page = pages.find(request.path());
  if (page == pages.end()) return plain_answer(404);
  if (request.method == "GET" || request.method == "HEAD") return page->second();
  Answer refusal = plain_answer(405);
  refusal.headers.emplace_back("Allow", "GET, HEAD");
  return refusal;
}

}  // namespace

Result<std::unique_ptr<Server>> serve_status(EventLoop& loop, Log& log, const std::string& address,
                                             StatusPages pages) {
  return Server::listen(
      loop, log, address,
      [pages = std::move(pages)](const Request& request, const Server::Respond& respond) {
        respond(answer_to(pages, request));
      },
      status_options());
}

Answer readiness(bool is_ready, const std::string& why) {
  return is_ready ? plain_answer(200, "ok") : plain_answer(503, why);
}

Answer metrics_page(std::string text) {
  Answer answer;
  answer.content_type = prometheus_type;
  answer.body = std::move(text);
  return answer;
}

}  // namespace lockstep::http

#include "notify/http_sender.h"

#include <memory>
#include <utility>

#include <fmt/format.h>

namespace lockstep::notify {

Result<void> judge_answer(int code, const std::string& host) {
  constexpr int request_timeout = 408;
  constexpr int too_many = 429;
  if (code >= 200 && code < 300) return {};
  bool later = code >= 500 || code == request_timeout || code == too_many;
  return fail(later ? ErrorKind::unreachable : ErrorKind::invalid,
              fmt::format("answered with {}", code), host);
}

Result<std::unique_ptr<HttpSender>> HttpSender::create(const std::string& address,
                                                       const kube::Environment& environment,
                                                       const kube::AddressGuard& guard,
                                                       EventLoop& loop, Duration limit) {
  bool is_http = address.starts_with("https://") || address.starts_with("http://");
  // Not with the address in it: it is a secret.
  if (!is_http) return fail(ErrorKind::invalid, "must begin with https:// or http://");
  size_t question = address.find('?');
  auto endpoint = kube::parse_endpoint(address.substr(0, question), true);
  if (!endpoint) return fail(ErrorKind::invalid, "is no address of a webhook");
  if (std::string why = guard.refusal(endpoint->host); !why.empty()) {
    return fail(ErrorKind::invalid, std::move(why));
  }
  std::string target = endpoint->path.empty() ? "/" : endpoint->path;
  if (question != std::string::npos) target += address.substr(question);
  kube::Route route;
  route.proxy = kube::proxy_from_environment(*endpoint, environment);
  endpoint->path.clear();  // the transport would put it before the target
  route.endpoint = std::move(*endpoint);
  route.from_kubeconfig = false;
  route.guard = std::make_shared<const kube::AddressGuard>(guard);
  return std::unique_ptr<HttpSender>(
      new HttpSender(std::move(route), std::move(target), loop, limit));
}

void HttpSender::send(std::string body, std::function<void(Result<void>)> done) {
  kube::Exchange exchange;
  exchange.method = "POST";
  exchange.target = target_;
  exchange.headers = {"Content-Type: application/json", "User-Agent: lockstep"};
  exchange.body = std::move(body);
  constexpr size_t answer_limit = 64 << 10;
  exchange.answer_limit = answer_limit;

  // Whichever comes first, the answer or the limit, is told; once.
  struct Pending {
    std::function<void(Result<void>)> done;
    TimerId timer = 0;
  };
  auto pending = std::make_shared<Pending>();
  pending->done = std::move(done);
  auto finish = [this, pending](Result<void> result) {
    if (!pending->done) return;
    loop_.cancel(pending->timer);
    std::exchange(pending->done, nullptr)(std::move(result));
  };
  kube::HttpTransport::Handlers handlers;
  handlers.on_done = scope_.bind([this, finish](Result<kube::HttpAnswer> answer) {
    const std::string& host = route_.endpoint.host;
    const bool is_refused = !answer && answer.error().kind == ErrorKind::forbidden;
    if (is_refused) return finish(fail(answer.error()));
    if (!answer) return finish(fail(ErrorKind::unreachable, "there was no answer", host));
    finish(judge_answer(answer->code, host));
  });
  kube::HttpTransport::Id id = transport_.start(route_, std::move(exchange), std::move(handlers));
  pending->timer = loop_.after(limit_, scope_.bind([this, finish, id] {
    transport_.cancel(id);
    finish(fail(ErrorKind::timed_out, "there was no answer in time", route_.endpoint.host));
  }));
}

}  // namespace lockstep::notify

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
                                                       const http::AddressGuard& guard,
                                                       EventLoop& loop, Duration limit) {
  bool is_http = address.starts_with("https://") || address.starts_with("http://");
  // Not with the address in it: it is a secret.
  if (!is_http) return fail(ErrorKind::invalid, "must begin with https:// or http://");
  auto destination =
      http::destination_of(address, environment, std::make_shared<const http::AddressGuard>(guard));
  if (!destination) return fail(ErrorKind::invalid, "is not a valid webhook address");
  if (std::string why = guard.refusal(destination->route.endpoint.host); !why.empty()) {
    return fail(ErrorKind::invalid, std::move(why));
  }
  return std::unique_ptr<HttpSender>(new HttpSender(std::move(*destination), loop, limit));
}

void HttpSender::send(std::string body, std::function<void(Result<void>)> done) {
  http::Exchange exchange;
  exchange.method = "POST";
  exchange.headers = {"Content-Type: application/json", "User-Agent: lockstep"};
  exchange.body = std::move(body);
  exchange.answer_limit = 64 << 10;
  asker_.ask(
      destination_, std::move(exchange),
      [host = destination_.route.endpoint.host,
       done = std::move(done)](Result<http::Response> answer) {
        if (answer) return done(judge_answer(answer->code, host));
        const ErrorKind kind = answer.error().kind;
        // Curl's own words could have the address in them.
        const bool is_ours = kind == ErrorKind::forbidden || kind == ErrorKind::timed_out;
        done(is_ours ? fail(answer.error()) : fail(ErrorKind::unreachable, "no answer", host));
      });
}

}  // namespace lockstep::notify

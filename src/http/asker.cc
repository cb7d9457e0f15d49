#include "http/asker.h"

#include <utility>

namespace lockstep::http {

Result<Destination> destination_of(const std::string& address, const Environment& environment,
                                   std::shared_ptr<const AddressGuard> guard) {
  const size_t question = address.find('?');
  LOCKSTEP_TRY(Endpoint endpoint, parse_endpoint(address.substr(0, question), true));
  Destination destination;
  destination.target = endpoint.path.empty() ? "/" : endpoint.path;
  if (question != std::string::npos) destination.target += address.substr(question);
  destination.route.proxy = proxy_from_environment(endpoint, environment);
  endpoint.path.clear();  // the client would put it before the target
  destination.route.endpoint = std::move(endpoint);
  destination.route.from_kubeconfig = false;
  destination.route.guard = std::move(guard);
  return destination;
}

void Asker::ask(const Destination& destination, Exchange exchange,
                std::function<void(Result<Response>)> done) {
  // Reports the answer or the limit, whichever comes first, once.
  struct Pending {
    std::function<void(Result<Response>)> done;
    TimerId timer = 0;
  };
  auto pending = std::make_shared<Pending>();
  pending->done = std::move(done);
  auto finish = [this, pending, host = destination.route.endpoint.host](Result<Response> answer) {
    if (!pending->done) return;
    loop_.cancel(pending->timer);
    const bool has_host = answer || answer.error().place == host;
    std::exchange(pending->done,
                  nullptr)(has_host ? std::move(answer) : fail(answer.error().at(host)));
  };
  exchange.target = destination.target;
  const Client::Id id =
      client_.start(destination.route, std::move(exchange), {nullptr, scope_.bind(finish)});
  pending->timer = loop_.after(limit_, scope_.bind([this, finish, id]() mutable {
    client_.cancel(id);
    finish(failf(ErrorKind::timed_out, "no answer within {}", format_duration(limit_)));
  }));
}

}  // namespace lockstep::http

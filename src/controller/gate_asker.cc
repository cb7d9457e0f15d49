#include "controller/gate_asker.h"

#include <utility>

#include <fmt/format.h>

namespace lockstep::controller {

namespace {

constexpr size_t answer_limit = 1 << 20;

struct Target {
  kube::Route route;
  std::string path;  // and query
};

Result<Target> target_of(const std::string& address, const kube::Environment& environment) {
  size_t question = address.find('?');
  LOCKSTEP_TRY(kube::Endpoint endpoint, kube::parse_endpoint(address.substr(0, question), true));
  Target target;
  target.path = endpoint.path.empty() ? "/" : endpoint.path;
  if (question != std::string::npos) target.path += address.substr(question);
  target.route.proxy = kube::proxy_from_environment(endpoint, environment);
  endpoint.path.clear();  // the transport would put it before the target
  target.route.endpoint = std::move(endpoint);
  target.route.from_kubeconfig = false;
  return target;
}

}  // namespace

void HttpGateAsker::ask(rollout::Question question, std::function<void(Result<GateAnswer>)> done) {
  auto target = target_of(question.address, environment_);
  if (!target) {
    loop_.post(
        scope_.bind([done = std::move(done), error = target.error()] { done(fail(error)); }));
    return;
  }
  target->route.guard = guard_;
  kube::Exchange exchange;
  exchange.method = "POST";
  exchange.target = target->path;
  exchange.headers = {"Content-Type: " + question.content_type, "Accept: application/json",
                      "User-Agent: lockstep"};
  exchange.body = std::move(question.body);
  exchange.answer_limit = answer_limit;

  // Whichever comes first, the answer or the limit, is told; once.
  struct Pending {
    std::function<void(Result<GateAnswer>)> done;
    TimerId timer = 0;
  };
  auto pending = std::make_shared<Pending>();
  pending->done = std::move(done);
  auto finish = [this, pending](Result<GateAnswer> answer) {
    if (!pending->done) return;
    loop_.cancel(pending->timer);
    std::exchange(pending->done, nullptr)(std::move(answer));
  };
  std::string host = target->route.endpoint.host;
  kube::HttpTransport::Handlers handlers;
  handlers.on_done = scope_.bind([finish, host](Result<kube::HttpAnswer> answer) {
    if (!answer) {
      const bool is_named = answer.error().place == host;
      return finish(fail(is_named ? answer.error() : answer.error().at(host)));
    }
    finish(GateAnswer{answer->code, std::move(answer->body)});
  });
  kube::HttpTransport::Id id =
      transport_.start(target->route, std::move(exchange), std::move(handlers));
  pending->timer = loop_.after(limit_, scope_.bind([this, finish, id, host] {
    transport_.cancel(id);
    finish(fail(ErrorKind::timed_out,
                fmt::format("there was no answer in {}", format_duration(limit_)), host));
  }));
}

}  // namespace lockstep::controller

#include "controller/gate_asker.h"

#include <utility>

namespace lockstep::controller {

namespace {

constexpr size_t answer_limit = 1 << 20;

}  // namespace

void HttpGateAsker::ask(rollout::Question question, std::function<void(Result<GateAnswer>)> done) {
  auto destination = http::destination_of(question.address, environment_, guard_);
  if (!destination) {
    loop_.post(
        scope_.bind([done = std::move(done), error = destination.error()] { done(fail(error)); }));
    return;
  }
  http::Exchange exchange;
  exchange.method = "POST";
  exchange.headers = {"Content-Type: " + question.content_type, "Accept: application/json",
                      "User-Agent: lockstep"};
  exchange.body = std::move(question.body);
  exchange.answer_limit = answer_limit;
  asker_.ask(*destination, std::move(exchange),
             [done = std::move(done)](Result<http::Response> answer) {
               if (!answer) return done(fail(answer.error()));
               done(GateAnswer{answer->code, std::move(answer->body)});
             });
}

}  // namespace lockstep::controller

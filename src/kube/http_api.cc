#include "kube/http_api.h"

#include <algorithm>
#include <utility>

#include "kube/http_watch.h"

namespace lockstep::kube {

Result<std::unique_ptr<HttpApi>> HttpApi::create(HttpApiConfig config,
                                                 std::unique_ptr<Credentials> credentials,
                                                 const Files& files, EventLoop& loop) {
  LOCKSTEP_TRY(auto core, HttpCore::create(std::move(config), std::move(credentials), files, loop));
  return std::unique_ptr<HttpApi>(new HttpApi(std::move(core)));
}

HttpApi::~HttpApi() {
  for (auto& [id, call] : calls_) core_->loop().cancel(call.timer);
}

void HttpApi::call(Request request, ReplyCallback done) {
  const CallId id = next_id_++;
  Call& call = calls_[id];
  const Duration limit = request.limit;
  call.request = std::move(request);
  call.done = std::move(done);
  if (limit > Duration(0)) {
    call.timer = core_->loop().after(limit, scope_.bind([this, id] { expired(id); }));
  }
  waiting_.push_back(id);
  schedule_next();
}

std::unique_ptr<Watch> HttpApi::watch(WatchRequest request, WatchHandler handler) {
  return start_http_watch(core_, std::move(request), std::move(handler));
}

void HttpApi::schedule_next() {
  if (scheduled_ || waiting_.empty() || in_flight_ >= core_->config().in_flight_limit) return;
  scheduled_ = true;
  core_->loop().post(scope_.bind([this] {
    scheduled_ = false;
    start_next();
  }));
}

void HttpApi::start_next() {
  while (!waiting_.empty() && in_flight_ < core_->config().in_flight_limit) {
    const CallId id = waiting_.front();
    waiting_.pop_front();
    const auto found = calls_.find(id);
    if (found == calls_.end()) continue;
    found->second.has_slot = true;
    ++in_flight_;
    authenticate(id);
  }
}

void HttpApi::authenticate(CallId id) {
  core_->credentials().get(
      scope_.bind([this, id](Result<Identity> identity) { send(id, std::move(identity)); }));
}

void HttpApi::send(CallId id, Result<Identity> identity) {
  const auto found = calls_.find(id);
  if (found == calls_.end()) return;  // its time was over meanwhile
  Call& call = found->second;
  if (!identity) return complete_later(id, identity.error());
  if (call.refusal && call.identity == *identity) {
    // There are no new credentials: the refusal is final.
    core_->loop().post(scope_.bind([this, id] {
      const auto refused = calls_.find(id);
      if (refused == calls_.end()) return;
      complete(id, core_->response_of(std::move(*refused->second.refusal)));
    }));
    return;
  }
  call.identity = std::move(*identity);
  auto exchange = core_->send(call.request, call.identity, false,
                              {nullptr, scope_.bind([this, id](Result<http::Response> answer) {
                                 answered(id, std::move(answer));
                               })});
  if (!exchange) return complete_later(id, exchange.error());
  call.exchange = *exchange;
}

void HttpApi::answered(CallId id, Result<http::Response> answer) {
  Call& call = calls_.at(id);
  call.exchange = 0;
  if (!answer) return complete(id, fail(answer.error().at(call.request.describe())));
  if (answer->code == 401 && !call.refusal && core_->credentials().refused(call.identity)) {
    call.refusal = std::move(*answer);
    return authenticate(id);
  }
  complete(id, core_->response_of(std::move(*answer)));
}

void HttpApi::expired(CallId id) {
  const Call& call = calls_.at(id);
  const Duration limit = call.request.limit;
  Error error;
  if (call.exchange != 0) {
    error = core_->timed_out(call.exchange, limit);
    core_->transport().cancel(call.exchange);
  } else if (call.has_slot) {
    error.message = fmt::format("the credentials were not there within {}", format_duration(limit));
  } else {
    error.message = fmt::format("{} other requests were still in flight after {}", in_flight_,
                                format_duration(limit));
  }
  error.kind = ErrorKind::timed_out;
  std::erase(waiting_, id);
  complete(id, fail(error.at(call.request.describe())));
}

void HttpApi::complete_later(CallId id, Error error) {
  core_->loop().post(scope_.bind([this, id, error = std::move(error)] {
    const auto found = calls_.find(id);
    if (found != calls_.end()) complete(id, fail(error.at(found->second.request.describe())));
  }));
}

void HttpApi::complete(CallId id, Reply reply) {
  auto call = calls_.extract(id);
  core_->loop().cancel(call.mapped().timer);
  if (call.mapped().has_slot) --in_flight_;
  schedule_next();
  // Last: it may destroy us.
  call.mapped().done(std::move(reply));
}

}  // namespace lockstep::kube

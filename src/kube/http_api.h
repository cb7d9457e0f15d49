// The Kubernetes API over HTTP.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>

#include "kube/api.h"
#include "kube/credentials.h"
#include "kube/http_core.h"
#include "world/event_loop.h"
#include "world/files.h"

namespace lockstep::kube {

// Runs on one EventLoop, which must outlive it. Destroying it, also inside a callback, ends
// everything: no callback runs any more. After a 401 it renews the credentials and asks once more.
// LimitedApi makes all other retries.
class HttpApi final : public Api {
 public:
  static Result<std::unique_ptr<HttpApi>> create(HttpApiConfig config,
                                                 std::unique_ptr<Credentials> credentials,
                                                 const Files& files, EventLoop& loop);
  ~HttpApi() override;

  // At most in_flight_limit are with the server; the others wait in their order. The request's
  // limit counts from here on.
  void call(Request request, ReplyCallback done) override;
  [[nodiscard]] std::unique_ptr<Watch> watch(WatchRequest request, WatchHandler handler) override;

  size_t in_flight() const { return in_flight_; }
  size_t waiting() const { return waiting_.size(); }

 private:
  using CallId = uint64_t;
  struct Call {
    Request request;
    ReplyCallback done;
    TimerId timer = 0;
    bool has_slot = false;
    http::Client::Id exchange = 0;
    Identity identity;
    // The first answer when it was a 401; its request is being sent once more.
    std::optional<http::Response> refusal;
  };

  explicit HttpApi(std::shared_ptr<HttpCore> core) : core_(std::move(core)) {}
  void schedule_next();
  void start_next();
  void authenticate(CallId id);
  void send(CallId id, Result<Identity> identity);
  void answered(CallId id, Result<http::Response> answer);
  void expired(CallId id);
  void complete(CallId id, Reply reply);
  void complete_later(CallId id, Error error);

  std::shared_ptr<HttpCore> core_;
  CallId next_id_ = 1;
  std::unordered_map<CallId, Call> calls_;
  std::deque<CallId> waiting_;
  size_t in_flight_ = 0;
  bool scheduled_ = false;
  Scope scope_;
};

}  // namespace lockstep::kube

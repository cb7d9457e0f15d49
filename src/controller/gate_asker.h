// Sends the queries of gates to Prometheus or a webhook.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "http/asker.h"
#include "kube/kubeconfig.h"
#include "rollout/asked_gate.h"
#include "world/event_loop.h"

namespace lockstep::controller {

struct GateAnswer {
  int code = 0;
  std::string body;
};

class GateAsker {
 public:
  virtual ~GateAsker() = default;
  // `done` once, later: an answer whatever its code, or why it is missing.
  virtual void ask(rollout::Question question, std::function<void(Result<GateAnswer>)> done) = 0;
};

// By a POST, within a limit of time and size. Follows no redirection, sends no credentials, and
// connects to no address that the guard refuses, because a rollout names the address.
class HttpGateAsker final : public GateAsker {
 public:
  // `environment`: where a proxy may be named.
  HttpGateAsker(kube::Environment environment, http::AddressGuard guard, EventLoop& loop,
                Duration limit = seconds(20))
      : environment_(std::move(environment)),
        guard_(std::make_shared<const http::AddressGuard>(std::move(guard))),
        loop_(loop),
        asker_(loop, limit) {}
  void ask(rollout::Question question, std::function<void(Result<GateAnswer>)> done) override;

 private:
  kube::Environment environment_;
  std::shared_ptr<const http::AddressGuard> guard_;
  EventLoop& loop_;
  http::Asker asker_;
  Scope scope_;
};

}  // namespace lockstep::controller

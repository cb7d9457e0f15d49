// Notifications over HTTP: one POST of JSON for each.
#pragma once

#include <memory>
#include <string>

#include "kube/http_transport.h"
#include "kube/kubeconfig.h"
#include "notify/notifier.h"
#include "world/event_loop.h"

namespace lockstep::notify {

// The address is a secret: whoever knows it can write to the channel. Errors name its host alone.
class HttpSender final : public Sender {
 public:
  // `environment`: where a proxy may be named. An address that the guard refuses is an error here
  // if the host is that address, and later if its name means it.
  static Result<std::unique_ptr<HttpSender>> create(const std::string& address,
                                                    const kube::Environment& environment,
                                                    const kube::AddressGuard& guard,
                                                    EventLoop& loop, Duration limit = seconds(15));
  void send(std::string body, std::function<void(Result<void>)> done) override;

 private:
  HttpSender(kube::Route route, std::string target, EventLoop& loop, Duration limit)
      : route_(std::move(route)),
        target_(std::move(target)),
        loop_(loop),
        limit_(limit),
        transport_(loop) {}

  kube::Route route_;
  std::string target_;
  EventLoop& loop_;
  Duration limit_;
  kube::HttpTransport transport_;
  Scope scope_;
};

// What an answer's code means for trying again: 2xx is delivered; 408, 429 and 5xx may be better
// later; the rest will not.
Result<void> judge_answer(int code, const std::string& host);

}  // namespace lockstep::notify

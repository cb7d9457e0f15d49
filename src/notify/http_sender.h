// Notifications over HTTP: one POST of JSON for each.
#pragma once

#include <memory>
#include <string>

#include "http/asker.h"
#include "kube/kubeconfig.h"
#include "notify/notifier.h"
#include "world/event_loop.h"

namespace lockstep::notify {

// The address is a secret: its owner can write to the channel. Errors name only its host.
class HttpSender final : public Sender {
 public:
  // `environment`: where a proxy may be named. An address that the guard refuses is an error here
  // if the host is that address, and later if its name means it.
  static Result<std::unique_ptr<HttpSender>> create(const std::string& address,
                                                    const kube::Environment& environment,
                                                    const http::AddressGuard& guard,
                                                    EventLoop& loop, Duration limit = seconds(15));
  void send(std::string body, std::function<void(Result<void>)> done) override;

 private:
  HttpSender(http::Destination destination, EventLoop& loop, Duration limit)
      : destination_(std::move(destination)), asker_(loop, limit) {}

  http::Destination destination_;
  http::Asker asker_;
};

// What an answer's code means for trying again: 2xx is delivered; 408, 429 and 5xx may be better
// later; the rest will not.
Result<void> judge_answer(int code, const std::string& host);

}  // namespace lockstep::notify

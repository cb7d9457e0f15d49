// An Api that reports every call that goes through it, and its outcome, to an observer.
#pragma once

#include <functional>
#include <memory>

#include "kube/api.h"

namespace lockstep::sim {

class ObservedApi final : public kube::Api {
 public:
  // Before the call, and when its reply arrives.
  using OnCall = std::function<void(const kube::Request& request)>;
  using OnReply = std::function<void(const kube::Request& request, const kube::Reply& reply)>;

  ObservedApi(kube::Api& inner, OnCall on_call, OnReply on_reply = {});

  void call(kube::Request request, kube::ReplyCallback done) override;
  [[nodiscard]] std::unique_ptr<kube::Watch> watch(kube::WatchRequest request,
                                                   kube::WatchHandler handler) override;

 private:
  kube::Api& inner_;
  OnCall on_call_;
  std::shared_ptr<const OnReply> on_reply_;  // a reply may come after we are gone
};

}  // namespace lockstep::sim

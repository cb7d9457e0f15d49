// An Api that reports every call and watch that goes through it, and what came of it.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "kube/api.h"

namespace lockstep::sim {

class ObservedApi final : public kube::Api {
 public:
  // Before the call, and when its reply arrives.
  using OnCall = std::function<void(const kube::Request& request)>;
  using OnReply = std::function<void(const kube::Request& request, const kube::Reply& reply)>;

  // When a watch begins, at each of its events, and at its end.
  struct OnWatch {
    std::function<void(const kube::WatchRequest& request)> begin;
    std::function<void(const kube::WatchRequest& request, const kube::WatchEvent& event)> event;
    std::function<void(const kube::WatchRequest& request, const Error& error)> end;
  };

  ObservedApi(kube::Api& inner, OnCall on_call, OnReply on_reply = {});

  void on_watch(OnWatch on_watch) {
    on_watch_ = std::make_shared<const OnWatch>(std::move(on_watch));
  }

  void call(kube::Request request, kube::ReplyCallback done) override;
  [[nodiscard]] std::unique_ptr<kube::Watch> watch(kube::WatchRequest request,
                                                   kube::WatchHandler handler) override;

 private:
  kube::Api& inner_;
  OnCall on_call_;
  std::shared_ptr<const OnReply> on_reply_;  // a reply may come after we are gone
  std::shared_ptr<const OnWatch> on_watch_;
};

}  // namespace lockstep::sim

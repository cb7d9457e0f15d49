#include "sim/scenario/observed_api.h"

#include <utility>

namespace lockstep::sim {

ObservedApi::ObservedApi(kube::Api& inner, OnCall on_call, OnReply on_reply)
    : inner_(inner), on_call_(std::move(on_call)) {
  if (on_reply) on_reply_ = std::make_shared<const OnReply>(std::move(on_reply));
}

void ObservedApi::call(kube::Request request, kube::ReplyCallback done) {
  if (on_call_) on_call_(request);
  if (!on_reply_) return inner_.call(std::move(request), std::move(done));
  auto told = [request, on_reply = on_reply_, done = std::move(done)](kube::Reply reply) {
    (*on_reply)(request, reply);
    done(std::move(reply));
  };
  inner_.call(std::move(request), std::move(told));
}

std::unique_ptr<kube::Watch> ObservedApi::watch(kube::WatchRequest request,
                                                kube::WatchHandler handler) {
  if (!on_watch_) return inner_.watch(std::move(request), std::move(handler));
  on_watch_->begin(request);
  auto asked = std::make_shared<const kube::WatchRequest>(request);
  kube::WatchHandler told;
  told.on_event = [asked, on_watch = on_watch_,
                   on_event = std::move(handler.on_event)](kube::WatchEvent event) {
    on_watch->event(*asked, event);
    on_event(std::move(event));
  };
  told.on_end = [asked, on_watch = on_watch_, on_end = std::move(handler.on_end)](Error error) {
    on_watch->end(*asked, error);
    on_end(std::move(error));
  };
  handler = std::move(told);
  return inner_.watch(std::move(request), std::move(handler));
}

}  // namespace lockstep::sim

// The Api of a server in the same process: no sockets, no text, the same verbs. On a VirtualLoop it
// is what simulations run on.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>

#include "apiserver/verbs/backend.h"
#include "apiserver/verbs/watching.h"
#include "kube/api.h"

namespace lockstep::apiserver {

class InProcessApi final : public kube::Api {
 public:
  InProcessApi(Backend& backend, Caller caller);
  ~InProcessApi() override;
  InProcessApi(const InProcessApi&) = delete;
  InProcessApi& operator=(const InProcessApi&) = delete;

  void call(kube::Request request, kube::ReplyCallback done) override;
  [[nodiscard]] std::unique_ptr<kube::Watch> watch(kube::WatchRequest request,
                                                   kube::WatchHandler handler) override;

 private:
  class FeedWatch;

  Backend& backend_;
  Caller caller_;
  uint64_t listener_;
  // By the watched resource, and by number, not by address: the order of wake-ups must not depend
  // on the allocator.
  std::unordered_map<std::string, std::map<uint64_t, FeedWatch*>> watches_;
  uint64_t next_watch_ = 1;
  Scope scope_;
};

// A verb's outcome as the Response that a client sees.
kube::Response response_of(Outcome<Answer> outcome);

}  // namespace lockstep::apiserver

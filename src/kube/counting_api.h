// An Api that counts what goes through it: for metrics, benchmarks and tests of how few calls we
// need.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "kube/api.h"
#include "world/loop.h"

namespace lockstep::kube {

struct CallLabels {
  std::string verb;         // "get", …, "watch"
  std::string resource;     // "pods", "daemonsets.apps"
  std::string subresource;  // "status", "eviction"
  int code = 0;             // HTTP's; 0 when no answer came. A watch counts as 200 when it begins.

  auto operator<=>(const CallLabels&) const = default;
};

struct CallCounts {
  uint64_t calls = 0;
  Duration total_time{0};  // from call() to its reply
};

struct WatchCounts {
  uint64_t events = 0;
  uint64_t ended = 0;  // by the other side
};

class CountingApi final : public Api {
 public:
  CountingApi(Api& inner, Loop& loop);
  ~CountingApi() override;

  void call(Request request, ReplyCallback done) override;
  [[nodiscard]] std::unique_ptr<Watch> watch(WatchRequest request, WatchHandler handler) override;

  const std::map<CallLabels, CallCounts>& counts() const;
  // By resource.
  const std::map<std::string, WatchCounts>& watches() const;
  size_t in_flight() const;

  // Sums over the labels that are not given; an empty string matches all.
  uint64_t total(std::string_view verb = {}, std::string_view resource = {}) const;
  // Creates, updates, patches and removals, answered or not.
  uint64_t writes() const;
  void reset();

 private:
  // Shared with the callbacks in flight: a reply that comes after we are gone is still passed on.
  struct State;
  Api& inner_;
  Loop& loop_;
  std::shared_ptr<State> state_;
};

}  // namespace lockstep::kube

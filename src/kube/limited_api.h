// An Api that is a good client of a busy server: a bounded number of requests in flight, a fair
// queue for the others, and another try, after the time the server asked for, where that is safe.
// All tries together stay within the request's limit, counted from the first: a longer wait is
// handed to the caller, which knows better what to do in the meantime.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kube/api.h"
#include "kube/backoff.h"
#include "world/loop.h"
#include "world/random.h"

namespace lockstep::kube {

struct LimitedApiOptions {
  size_t in_flight = 50;
  // More than this waiting is a fault of ours: the request fails at once, with kind throttled.
  size_t queued = 100'000;
  // The first try counts.
  uint32_t tries = 5;
  BackoffPolicy backoff{milliseconds(500), seconds(30), 2.0, 0.5};
  // These never queue: a leader must not lose its lease because it waits behind its own work.
  std::vector<ResourceType> exempt = {resource::leases};
};

struct LimitedApiCounts {
  uint64_t queued = 0;   // requests that had to wait
  uint64_t retried = 0;  // tries after the first
  uint64_t gave_up = 0;  // requests that used up their tries or their time
  uint64_t refused = 0;  // the queue was full
};

class LimitedApi final : public Api {
 public:
  LimitedApi(Api& inner, Loop& loop, Random& random, LimitedApiOptions options = {});
  ~LimitedApi() override;

  void call(Request request, ReplyCallback done) override;
  // Watches are few and long: neither counted nor limited.
  [[nodiscard]] std::unique_ptr<Watch> watch(WatchRequest request, WatchHandler handler) override;

  size_t in_flight() const { return in_flight_; }
  size_t waiting() const { return waiting_; }
  const LimitedApiCounts& counts() const { return counts_; }

 private:
  struct Job {
    Request request;
    ReplyCallback done;
    Backoff backoff;
    uint32_t tries = 0;
    Duration deadline{0};  // of all tries, by uptime
    bool exempt = false;
  };
  using JobPointer = std::shared_ptr<Job>;

  void enqueue(JobPointer job, bool first_try);
  void start_waiting();
  JobPointer take_next();
  void send(const JobPointer& job);
  void on_reply(const JobPointer& job, Reply reply);
  std::optional<Duration> delay_of_retry(Job& job, const Reply& reply);
  bool is_exempt(const Request& request) const;

  Api& inner_;
  Loop& loop_;
  Random& random_;
  LimitedApiOptions options_;
  // One queue per kind of object, served in turns: ten thousand events to write do not keep one
  // node's patch waiting.
  std::map<std::string, std::deque<JobPointer>> flows_;
  std::string last_flow_;
  size_t waiting_ = 0;
  size_t in_flight_ = 0;
  LimitedApiCounts counts_;
  Scope scope_;
};

}  // namespace lockstep::kube

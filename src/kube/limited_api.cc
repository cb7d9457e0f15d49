#include "kube/limited_api.h"

#include <algorithm>
#include <utility>

namespace lockstep::kube {
namespace {

bool is_read(const Request& request) {
  return request.verb == Verb::get || request.verb == Verb::list;
}

// A 429 was refused before anything was done, and so was a 5xx with a retry time. Any other
// 5xx may have happened in the middle of a write: only its caller knows whether to repeat
// it.
bool is_safe_to_repeat(const Request& request, const Response& response) {
  // The eviction's 429 is the disruption budget's "not now": an answer, not a full server.
  if (request.subresource == "eviction") return false;
  if (response.code == 429) return true;
  if (response.code < 500) return false;
  return response.retry_after.has_value() || is_read(request);
}

}  // namespace

LimitedApi::LimitedApi(Api& inner, Loop& loop, Random& random, LimitedApiOptions options)
    : inner_(inner), loop_(loop), random_(random), options_(std::move(options)) {}

LimitedApi::~LimitedApi() = default;

void LimitedApi::call(Request request, ReplyCallback done) {
  if (waiting_ >= options_.queued) {
    ++counts_.refused;
    Error error{ErrorKind::throttled, "too many requests are waiting in this process",
                request.describe()};
    loop_.post(scope_.bind([done = std::move(done), error = std::move(error)]() mutable {
      done(fail(std::move(error)));
    }));
    return;
  }
  auto job = std::make_shared<Job>(
      Job{std::move(request), std::move(done), Backoff(options_.backoff, random_)});
  job->exempt = is_exempt(job->request);
  enqueue(std::move(job), true);
}

std::unique_ptr<Watch> LimitedApi::watch(WatchRequest request, WatchHandler handler) {
  return inner_.watch(std::move(request), std::move(handler));
}

bool LimitedApi::is_exempt(const Request& request) const {
  return std::find(options_.exempt.begin(), options_.exempt.end(), request.type) !=
         options_.exempt.end();
}

void LimitedApi::enqueue(JobPointer job, bool first_try) {
  if (job->exempt) return send(job);
  if (first_try && in_flight_ >= options_.in_flight) ++counts_.queued;
  auto& flow = flows_[job->request.type.full_name()];
  // A request that has waited out a retry has waited longest.
  if (first_try) {
    flow.push_back(std::move(job));
  } else {
    flow.push_front(std::move(job));
  }
  ++waiting_;
  start_waiting();
}

void LimitedApi::start_waiting() {
  while (in_flight_ < options_.in_flight && waiting_ > 0) {
    JobPointer job = take_next();
    ++in_flight_;
    send(job);
  }
}

// The head of the flow after the one that was served last.
LimitedApi::JobPointer LimitedApi::take_next() {
  auto flow = flows_.upper_bound(last_flow_);
  if (flow == flows_.end()) flow = flows_.begin();
  last_flow_ = flow->first;
  JobPointer job = std::move(flow->second.front());
  flow->second.pop_front();
  // Empty flows go, so that every flow in the map has something to serve.
  if (flow->second.empty()) flows_.erase(flow);
  --waiting_;
  return job;
}

void LimitedApi::send(const JobPointer& job) {
  Duration now = loop_.uptime();
  if (job->tries == 0) job->deadline = now + job->request.limit;
  ++job->tries;
  Request request = job->request;
  request.limit = job->deadline - now;
  inner_.call(std::move(request),
              scope_.bind([this, job](Reply reply) { on_reply(job, std::move(reply)); }));
}

// How long to wait for the next try; nothing when there is to be none.
std::optional<Duration> LimitedApi::delay_of_retry(Job& job, const Reply& reply) {
  if (!reply || !is_safe_to_repeat(job.request, *reply)) return std::nullopt;
  Duration delay = job.backoff.next_at_least(reply->retry_after.value_or(Duration::zero()));
  if (job.tries >= options_.tries || loop_.uptime() + delay >= job.deadline) {
    ++counts_.gave_up;
    return std::nullopt;
  }
  return delay;
}

void LimitedApi::on_reply(const JobPointer& job, Reply reply) {
  if (!job->exempt) --in_flight_;
  std::optional<Duration> delay = delay_of_retry(*job, reply);
  if (delay) {
    ++counts_.retried;
    loop_.after(*delay, scope_.bind([this, job] { enqueue(job, false); }));
  }
  start_waiting();
  // Last: the callback may destroy us.
  if (!delay) job->done(std::move(reply));
}

}  // namespace lockstep::kube

#include "kube/counting_api.h"

#include <utility>

namespace lockstep::kube {

struct CountingApi::State {
  std::map<CallLabels, CallCounts> counts;
  std::map<std::string, WatchCounts> watches;
  size_t in_flight = 0;
};

CountingApi::CountingApi(Api& inner, Loop& loop)
    : inner_(inner), loop_(loop), state_(std::make_shared<State>()) {}

CountingApi::~CountingApi() = default;

void CountingApi::call(Request request, ReplyCallback done) {
  CallLabels labels{std::string(to_string(request.verb)), request.type.full_name(),
                    request.subresource, 0};
  ++state_->in_flight;
  auto count = [state = state_, &loop = loop_, began = loop_.uptime(), labels = std::move(labels),
                done = std::move(done)](Reply reply) mutable {
    labels.code = reply ? reply->code : 0;
    --state->in_flight;
    CallCounts& counts = state->counts[labels];
    ++counts.calls;
    counts.total_time += loop.uptime() - began;
    done(std::move(reply));
  };
  inner_.call(std::move(request), std::move(count));
}

std::unique_ptr<Watch> CountingApi::watch(WatchRequest request, WatchHandler handler) {
  std::string resource = request.type.full_name();
  ++state_->counts[CallLabels{"watch", resource, "", 200}].calls;
  // Created now: counting an event is then one increment. A map's elements stay where they are.
  WatchCounts* counts = &state_->watches[resource];
  WatchHandler counting;
  counting.on_event = [state = state_, counts,
                       on_event = std::move(handler.on_event)](WatchEvent event) {
    ++counts->events;
    on_event(std::move(event));
  };
  counting.on_end = [state = state_, counts, on_end = std::move(handler.on_end)](Error error) {
    ++counts->ended;
    on_end(std::move(error));
  };
  return inner_.watch(std::move(request), std::move(counting));
}

const std::map<CallLabels, CallCounts>& CountingApi::counts() const { return state_->counts; }

const std::map<std::string, WatchCounts>& CountingApi::watches() const { return state_->watches; }

size_t CountingApi::in_flight() const { return state_->in_flight; }

uint64_t CountingApi::total(std::string_view verb, std::string_view resource) const {
  uint64_t sum = 0;
  for (const auto& [labels, counts] : state_->counts) {
    if (!verb.empty() && labels.verb != verb) continue;
    if (!resource.empty() && labels.resource != resource) continue;
    sum += counts.calls;
  }
  return sum;
}

uint64_t CountingApi::writes() const {
  uint64_t sum = 0;
  for (const auto& [labels, counts] : state_->counts) {
    bool read = labels.verb == to_string(Verb::get) || labels.verb == to_string(Verb::list) ||
                labels.verb == "watch";
    if (!read) sum += counts.calls;
  }
  return sum;
}

void CountingApi::reset() {
  state_->counts.clear();
  // Watches that are open hold pointers to their counts.
  for (auto& [resource, counts] : state_->watches) counts = {};
}

}  // namespace lockstep::kube

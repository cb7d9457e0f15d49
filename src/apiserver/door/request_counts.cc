#include "apiserver/door/request_counts.h"

#include "http/prometheus.h"

namespace lockstep::apiserver {

namespace {

// A hostile client could make up a name for every request.
constexpr size_t most_series = 10'000;

}  // namespace

void RequestCounts::add(const RequestKind& kind) {
  ++total_;
  auto found = counts_.find(kind);
  if (found != counts_.end()) {
    ++found->second;
    return;
  }
  if (counts_.size() < most_series) {
    counts_.emplace(kind, 1);
    return;
  }
  RequestKind other = kind;
  other.client = "other";
  ++counts_[other];
}

void RequestCounts::write_metrics(http::PrometheusText& out) const {
  out.counter("apiserver_request_total", "Requests answered, by client, verb, resource and code.");
  for (const auto& [kind, count] : counts_) {
    out.sample(count, {{"client", kind.client},
                       {"code", std::to_string(kind.code)},
                       {"resource", kind.resource},
                       {"subresource", kind.subresource},
                       {"verb", kind.verb}});
  }
}

}  // namespace lockstep::apiserver

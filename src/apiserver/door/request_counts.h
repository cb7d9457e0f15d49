// How often each client asked for what: benchmarks and tests count calls with it (/metrics).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace lockstep::http {
class PrometheusText;
}

namespace lockstep::apiserver {

struct RequestKind {
  std::string client;  // the first word of the User-Agent
  std::string verb;    // GET, LIST, WATCH, POST, PUT, PATCH, DELETE, DELETECOLLECTION
  std::string resource;
  std::string subresource;
  int code = 0;
  auto operator<=>(const RequestKind&) const = default;
};

class RequestCounts {
 public:
  void add(const RequestKind& kind);
  uint64_t total() const { return total_; }
  const std::map<RequestKind, uint64_t>& counts() const { return counts_; }
  // Under the real server's name apiserver_request_total.
  void write_metrics(http::PrometheusText& out) const;

 private:
  std::map<RequestKind, uint64_t> counts_;
  uint64_t total_ = 0;
};

}  // namespace lockstep::apiserver

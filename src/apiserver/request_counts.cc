#include "apiserver/request_counts.h"

#include <fmt/format.h>

namespace lockstep::apiserver {

namespace {

// A hostile client could make up a name for every request.
constexpr size_t most_series = 10'000;

std::string escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out;
}

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

std::string RequestCounts::metrics() const {
  std::string out =
      "# HELP apiserver_request_total Requests answered, by client, verb, resource and code.\n"
      "# TYPE apiserver_request_total counter\n";
  for (const auto& [kind, count] : counts_) {
    fmt::format_to(std::back_inserter(out),
                   "apiserver_request_total{{client=\"{}\",code=\"{}\",resource=\"{}\",subresource="
                   "\"{}\",verb=\"{}\"}} {}\n",
                   escaped(kind.client), kind.code, escaped(kind.resource),
                   escaped(kind.subresource), escaped(kind.verb), count);
  }
  return out;
}

}  // namespace lockstep::apiserver

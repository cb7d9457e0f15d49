// Requests of the dashboard's pages as values, and the rules of who may ask what: names of hosts
// (against DNS that is turned on this machine), where a change comes from (against other people's
// pages), tokens, and the headers that every answer carries.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "controller/http_request_head.h"

namespace lockstep::dashboard {

struct PageRequest {
  controller::RequestHead head;
  std::string body;

  // Of the query, decoded; empty when it is not there.
  std::string parameter(std::string_view name) const;
  bool takes_gzip() const;
  // The token of "Authorization: Bearer …"; empty: none.
  std::string_view token() const;
};

struct PageAnswer {
  int code = 200;
  std::string content_type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;

  static PageAnswer json(std::string body);
  // {"error": "…"}, as pages show it.
  static PageAnswer refuse(int code, std::string_view why);
};

// 0: it may be answered; else the HTTP code to refuse it with. `loopback`: only this machine
// reaches the server, so only its own names are right.
int refusal_of(const PageRequest& request, bool loopback);

// The head of an answer with the headers that protect the page. `length` not set: a stream.
std::string print_head(const PageAnswer& answer, const size_t* length);

// The header without which nothing is changed: other people's pages cannot send it unasked.
inline constexpr std::string_view intent_header = "x-lockstep-request";

}  // namespace lockstep::dashboard

// The access rules of the dashboard: names of hosts (against DNS rebinding to this machine),
// where a change comes from (against other sites' pages), tokens, and the headers of every
// answer.
#pragma once

#include <string>
#include <string_view>

#include "http/message.h"
#include "http/server.h"

namespace lockstep::dashboard {

// 0: it may be answered; else the HTTP code to refuse it with. `loopback`: only this machine
// reaches the server, so only its own names are right.
int refusal_of(const http::Request& request, bool loopback);

// The token of "Authorization: Bearer …"; empty if missing.
std::string_view token_of(const http::Request& request);

http::Answer json_answer(std::string body);
// {"error": "…"}, as pages show it.
http::Answer refuse_page(int code, std::string_view why);

// With the headers that protect the page, and limits for pages and for strangers.
http::ServerOptions page_server_options();

// The header without which nothing is changed: other sites' pages cannot send it unasked.
inline constexpr std::string_view intent_header = "x-lockstep-request";

}  // namespace lockstep::dashboard

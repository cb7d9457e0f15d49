// What a web page must not be able to do to a server on the same machine: reach it under a name of
// its own (DNS rebinding), send requests from another origin, or send a body in one of the formats
// that browsers send without asking.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/schema/status.h"

namespace lockstep::apiserver {

struct RequestGuard {
  // Besides localhost, 127.0.0.0/8 and [::1]: names and addresses without a port.
  std::vector<std::string> hosts;
  uint16_t port = 0;
  // With TLS the certificate proves the server's identity: any name of Host is accepted.
  bool any_host = false;
};

struct RequestSource {
  std::string_view host;
  std::string_view origin;      // empty: no browser
  std::string_view fetch_site;  // Sec-Fetch-Site
  std::string_view content_type;
  bool has_body = false;
};

// 421 for another host, 403 for another origin, 415 for a body without a known type.
Outcome<void> check_source(const RequestGuard& guard, const RequestSource& source);

}  // namespace lockstep::apiserver

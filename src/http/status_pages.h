// What a process says about itself: /metrics, /healthz, /readyz. A client that is slow, silent or
// rude costs a descriptor for a few seconds and nothing else.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "http/server.h"

namespace lockstep::http {

// By path.
using StatusPages = std::map<std::string, std::function<Answer()>, std::less<>>;

// One request a connection; 64 connections, so that a probe gets through. `address` as for Server.
Result<std::unique_ptr<Server>> serve_status(EventLoop& loop, Log& log, const std::string& address,
                                             StatusPages pages);

// 200 "ok", or 503 with the reason.
Answer readiness(bool is_ready, const std::string& why = {});
Answer metrics_page(std::string text);

}  // namespace lockstep::http

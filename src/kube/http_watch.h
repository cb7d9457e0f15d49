// One watch over HTTP: a request whose answer never ends, and the events in it.
#pragma once

#include <memory>

#include "kube/api.h"
#include "kube/http_core.h"

namespace lockstep::kube {

// The watch ends silently when the core goes.
std::unique_ptr<Watch> start_http_watch(const std::shared_ptr<HttpCore>& core, WatchRequest request,
                                        WatchHandler handler);

}  // namespace lockstep::kube

// A cluster as somebody else: with a token that a person brings, and with nothing of our own.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "kube/api.h"
#include "kube/connect.h"

namespace lockstep::kube {

// The same cluster as the target's, as whoever has this token: what else the target says of its
// user is left out.
Result<std::unique_ptr<Api>> connect_with_token(const ConnectOptions& options, const Target& target,
                                                const std::string& token,
                                                const Environment& environment, const Files& files,
                                                Processes& processes, EventLoop& loop);

}  // namespace lockstep::kube

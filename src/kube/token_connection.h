// A cluster as another user: with a token that the user supplies, and with nothing of our own.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "kube/api.h"
#include "kube/connect.h"

namespace lockstep::kube {

// The same cluster as the target's, as the owner of this token: everything else that the target
// says of its user is left out.
Result<std::unique_ptr<Api>> connect_with_token(const ConnectOptions& options, const Target& target,
                                                const std::string& token,
                                                const Environment& environment, const Files& files,
                                                Processes& processes, EventLoop& loop);

}  // namespace lockstep::kube

// What the API server's clock says: the Date of its answer to a request that needs no rights.
#pragma once

#include "base/result.h"
#include "base/time.h"
#include "cli/cluster_session.h"

namespace lockstep::cli {

// By how much the server's clock is ahead of ours; negative: behind. Good to a second or so.
Result<Duration> server_ahead(ClusterSession& session);

}  // namespace lockstep::cli

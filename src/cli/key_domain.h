// A connection whose flags name the key domain of the cluster's controller (fleet/key_domain.h).
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "cli/cluster_session.h"

namespace lockstep::cli {

enum class KeyUse { read, write };

// Opens the session and fills in `flags.key_domain` and `flags.driver_namespaces`. What belongs to
// another domain is said in the first line (beside a document, on standard error) and kept in
// `flags.key_conflict`; for writing it is an error.
Result<std::unique_ptr<ClusterSession>> open_in_key_domain(ClusterFlags& flags, KeyUse use,
                                                           bool is_document = false);

// A fleet that has been listed.
struct OpenFleet {
  std::unique_ptr<ClusterSession> session;
  std::unique_ptr<view::FleetWatch> watch;
  std::string key_conflict;

  Time now() const { return session->loop.now(); }
};
Result<OpenFleet> open_fleet(ClusterFlags flags, bool is_document = false);

}  // namespace lockstep::cli

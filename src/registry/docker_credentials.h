// Our identity to a registry, as Docker stores it: config.json in $DOCKER_CONFIG or ~/.docker, with
// its credential helpers. `docker login`, `helm registry login` and `oras login` all write it.
#pragma once

#include <string>

#include "base/result.h"
#include "kube/kubeconfig.h"
#include "world/files.h"
#include "world/process.h"

namespace lockstep::registry {

struct Login {
  std::string username;
  std::string password;
  std::string identity_token;  // to be exchanged for an access token; without a password

  bool empty() const { return username.empty() && password.empty() && identity_token.empty(); }
  bool operator==(const Login&) const = default;
};

// The login for this host ("ghcr.io", "localhost:5000"); empty if unknown. The order: a helper that
// is named for the host, the common helper, the login in the file itself.
Result<Login> find_login(const std::string& host, const kube::Environment& environment,
                         const Files& files, Processes& processes);

}  // namespace lockstep::registry

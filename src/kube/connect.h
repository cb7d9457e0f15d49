// From the command line's flags to an Api that is ready.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "kube/api.h"
#include "kube/kubeconfig.h"
#include "world/event_loop.h"
#include "world/files.h"
#include "world/process.h"

namespace lockstep::kube {

struct ConnectOptions {
  std::string kubeconfig;  // --kubeconfig
  std::string context;     // --context
  std::string ns;          // --namespace
  std::string version;     // of this program, for the user agent
};

// What to connect to, by the rules of client-go: the kubeconfig when any of its files says
// anything, else the pod's service account, else an error with the searched places.
Result<Target> find_target(const ConnectOptions& options, const Environment& environment,
                           const Files& files);

struct Connection {
  Target target;
  std::unique_ptr<Api> api;
};

// Everything handed in must outlive the connection. Nothing is sent yet: the first call finds out
// whether the server is there.
Result<Connection> connect(const ConnectOptions& options, const Environment& environment,
                           const Files& files, Processes& processes, EventLoop& loop);

}  // namespace lockstep::kube

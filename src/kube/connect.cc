#include "kube/connect.h"

#include <utility>

#include "base/strings.h"
#include "http/endpoint.h"
#include "kube/credentials.h"
#include "kube/http_api.h"
#include "kube/in_cluster.h"
#include "kube/token_connection.h"

namespace lockstep::kube {

namespace {

Error nothing_found(const ConnectOptions& options, const Environment& environment) {
  const std::string looked = join(kubeconfig_paths(options.kubeconfig, environment), ", ");
  return Error{ErrorKind::not_found,
               fmt::format("no kubeconfig (looked for: {}) and not in a pod; name one with "
                           "--kubeconfig or $KUBECONFIG",
                           looked.empty() ? "nothing, $HOME is not set" : looked),
               {}};
}

Result<HttpApiConfig> api_config(const ConnectOptions& options, const Target& target,
                                 const Environment& environment) {
  HttpApiConfig config;
  config.cluster = target.cluster;
  config.user_agent = options.version.empty() ? "lockstep" : "lockstep/" + options.version;
  LOCKSTEP_TRY(config.headers, impersonation_headers(target.user));
  // The way out of a client's or proxy's broken HTTP/2 that client-go has.
  config.http2 = !environment.contains("DISABLE_HTTP2");
  auto endpoint = http::parse_endpoint(target.cluster.server, true);
  if (endpoint) config.proxy = http::proxy_from_environment(*endpoint, environment);
  return config;
}

}  // namespace

Result<Target> find_target(const ConnectOptions& options, const Environment& environment,
                           const Files& files) {
  LOCKSTEP_TRY(const Kubeconfig kubeconfig,
               load_kubeconfig(options.kubeconfig, environment, files));
  Target target;
  if (!kubeconfig.empty()) {
    LOCKSTEP_TRY(target, choose_context(kubeconfig, options.context));
  } else if (!options.context.empty() || !in_cluster_possible(environment, files)) {
    return fail(nothing_found(options, environment));
  } else {
    LOCKSTEP_TRY(target, in_cluster_target(environment, files));
  }
  if (!options.ns.empty()) target.ns = options.ns;
  return target;
}

Result<Connection> connect(const ConnectOptions& options, const Environment& environment,
                           const Files& files, Processes& processes, EventLoop& loop) {
  Connection connection;
  LOCKSTEP_TRY(connection.target, find_target(options, environment, files));
  const Target& target = connection.target;
  LOCKSTEP_TRY(HttpApiConfig config, api_config(options, target, environment));
  auto credentials = make_credentials(target.user, target.cluster, files, processes, loop);
  LOCKSTEP_TRY(connection.api,
               HttpApi::create(std::move(config), std::move(credentials), files, loop));
  return connection;
}

Result<std::unique_ptr<Api>> connect_with_token(const ConnectOptions& options, const Target& target,
                                                const std::string& token,
                                                const Environment& environment, const Files& files,
                                                Processes& processes, EventLoop& loop) {
  // A token that cannot be a header's value is said to be wrong before anything is sent.
  LOCKSTEP_CHECK(bearer(token));
  Target own = target;
  own.user = UserConfig{};
  own.user.token = token;
  LOCKSTEP_TRY(HttpApiConfig config, api_config(options, own, environment));
  auto credentials = make_credentials(own.user, own.cluster, files, processes, loop);
  LOCKSTEP_TRY(std::unique_ptr<Api> api,
               HttpApi::create(std::move(config), std::move(credentials), files, loop));
  return api;
}

}  // namespace lockstep::kube

#include "cli/apiserver_command.h"

#include <cstdio>

#include <fmt/format.h>

#include "apiserver/door/embedded_server.h"
#include "base/ip_address.h"
#include "cli/exit_codes.h"
#include "cli/signals.h"
#include "world/files.h"

namespace lockstep::cli {

int run_apiserver(const ApiserverFlags& flags) {
  if (!flags.tls && !is_loopback_host(flags.address)) {
    return report(Error{
        ErrorKind::invalid,
        "plain HTTP sends the token as it is and is for loopback only: leave out --no-tls, or "
        "listen on 127.0.0.1",
        "--address " + flags.address});
  }
  block_signals();
  apiserver::EmbeddedOptions options;
  options.address = flags.address == "localhost" ? "127.0.0.1" : flags.address;
  options.port = flags.port;
  options.tls = flags.tls;
  options.token = flags.token;
  options.http.hosts = flags.hosts;
  options.http.gzip = flags.gzip;
  options.backend.reap_pods = flags.reap_pods;
  auto server = apiserver::EmbeddedServer::start(std::move(options));
  if (!server) return report(server.error());

  SystemFiles files;
  if (!flags.kubeconfig_out.empty()) {
    // 0600: it holds a key or a token.
    auto written = files.write(flags.kubeconfig_out, (*server)->kubeconfig(), 0600);
    if (!written) return report(written.error().at("--kubeconfig-out"));
  }
  fmt::print("Kubernetes API at {}\n", (*server)->url());
  if (!flags.kubeconfig_out.empty())
    fmt::print("  kubectl --kubeconfig {} get nodes\n", flags.kubeconfig_out);
  if (flags.kubeconfig_out.empty() && flags.token.empty()) {
    fmt::print(
        "  curl {}--header 'Authorization: Bearer {}' {}/api/v1/nodes\n"
        "  --kubeconfig-out FILE writes a kubeconfig for kubectl\n",
        flags.tls ? "--insecure " : "", (*server)->token(), (*server)->url());
  }
  fmt::print(
      "Everything is kept in memory and is gone when this ends: for demos, simulations and tests. "
      "Ctrl-C ends it.\n");
  std::fflush(stdout);
  wait_for_signal();
  if (!flags.kubeconfig_out.empty()) (void)files.remove(flags.kubeconfig_out);
  return ExitCode::ok;
}

}  // namespace lockstep::cli

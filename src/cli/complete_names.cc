#include "cli/complete_names.h"

#include <csignal>
#include <cstdio>
#include <string>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "base/strings.h"
#include "cli/cluster_session.h"
#include "cli/exit_codes.h"
#include "fleet/keys.h"

namespace lockstep::cli {

namespace {

// A user who presses a key does not wait longer.
constexpr unsigned patience_seconds = 2;
constexpr int64_t page_size = 500;

extern "C" void end_quietly(int) { _exit(ExitCode::ok); }

// Page by page, and each at once: what has come when time is up has been said.
void print_names(ClusterSession& session, const ResourceType& type) {
  std::string next;
  do {
    kube::Request request = kube::list(type);
    request.with("limit", std::to_string(page_size));
    if (!next.empty()) request.with("continue", next);
    kube::Reply reply = fail(ErrorKind::timed_out, "no answer");
    bool answered = false;
    session.connection.api->call(std::move(request), [&](kube::Reply answer) {
      reply = std::move(answer);
      answered = true;
    });
    session.loop.run_until([&] { return answered; }, seconds(patience_seconds));
    if (!reply || !reply->ok()) return;
    auto page = reply->document();
    if (!page) return;
    const Json* items = find(**page, "items");
    if (items == nullptr || !items->is_array()) return;
    for (const Json& item : items->as_array())
      fmt::print("{}\n", text_at(item, "metadata", "name"));
    std::fflush(stdout);
    next = std::string(text_at(**page, "metadata", "continue"));
  } while (!next.empty());
}

}  // namespace

int run_complete_names(int argc, char** argv) {
  (void)std::signal(SIGALRM, end_quietly);
  alarm(patience_seconds);
  ClusterFlags flags;
  for (int i = 3; i + 1 < argc; i += 2) {
    const std::string_view word = argv[i];
    if (word == "--kubeconfig") flags.kubeconfig = argv[i + 1];
    if (word == "--context") flags.context = argv[i + 1];
  }
  auto session = ClusterSession::open(flags, LogLevel::error);
  if (!session || argc < 3) return ExitCode::ok;
  for (const std::string_view kind : split(argv[2], ',')) {
    if (kind == "nodes") print_names(**session, resource::nodes);
    if (kind == "rollouts") print_names(**session, fleet::driver_rollouts);
  }
  return ExitCode::ok;
}

}  // namespace lockstep::cli

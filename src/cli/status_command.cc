#include "cli/status_command.h"

#include <algorithm>
#include <cstdio>
#include <unistd.h>

#include <fmt/format.h>

#include "base/strings.h"
#include "cli/bake_text.h"
#include "cli/exit_codes.h"
#include "cli/fleet_status.h"
#include "cli/key_domain.h"
#include "cli/output.h"
#include "cli/rollout_tree.h"
#include "cli/status_text.h"
#include "data/yaml.h"

namespace lockstep::cli {

void print_document(const Json& document, const std::string& output) {
  const std::string text =
      output == "yaml" ? print_yaml(document) : print_json_pretty(document) + "\n";
  // A program gets every byte as it is; JSON means the same with escapes.
  if (isatty(STDOUT_FILENO) != 0) return print_text(text);
  fmt::print("{}", text);
}

namespace {

// Rollouts in progress and paused ones, with their waves: what the nodes below wait for follows
// from them.
std::string rollouts_text(const controller::FleetWatch& watch, const FleetStatus& status,
                          const Terminal& terminal) {
  std::string text;
  for (const auto& [name, known] : watch.rollouts.all()) {
    if (known.is_active() || known.spec.paused) {
      text += rollout_tree(watch, known, status, terminal);
    }
  }
  return text;
}

void show(const controller::FleetWatch& watch, const FleetStatus& status, const StatusFlags& flags,
          const Terminal& terminal) {
  if (flags.output != "table") {
    print_document(to_json(status), flags.output);
  } else {
    StatusTextOptions options;
    options.all_nodes = flags.all;
    print_text(rollouts_text(watch, status, terminal) + status_text(status, terminal, options));
  }
  std::fflush(stdout);
}

// What is shown may be old: why, or nothing.
std::string lost_contact(const controller::FleetWatch& watch) {
  const auto& status = watch.nodes_watch.reflector.status();
  bool lost = !status.watching && status.last_error && status.last_error_time > status.last_success;
  if (!lost) return {};
  return fmt::format("no contact since {}: {}", format_rfc3339(status.last_success),
                     status.last_error->text());
}

// Redraws on a terminal; elsewhere a line, or a document, for each change.
int follow(ClusterSession& session, controller::FleetWatch& watch, const StatusFlags& flags,
           const std::string& key_conflict) {
  Terminal terminal = Terminal::of_output();
  std::string last;
  while (true) {
    FleetStatus status = look_at_fleet(watch, session.loop.now());
    std::string lost = lost_contact(watch);
    std::string line = lost.empty() ? status_line(status) : lost;
    if (flags.output != "table") {
      if (line != last && lost.empty()) print_document(to_json(status), flags.output);
    } else if (terminal.interactive) {
      StatusTextOptions options;
      std::string text = key_conflict.empty() ? "" : "key domain: " + key_conflict + "\n";
      text += rollouts_text(watch, status, terminal);
      auto above = static_cast<int>(std::count(text.begin(), text.end(), '\n'));
      options.most_nodes = static_cast<size_t>(std::max(5, terminal.height - 16 - above));
      text += status_text(status, terminal, options);
      if (!lost.empty()) lost = terminal.paint(lost, "1;31") + "\n";
      fmt::print("\x1b[H\x1b[2J");
      print_text(lost + text);
    } else if (line != last) {
      print_text(fmt::format("{} {}\n", format_rfc3339(status.at), line));
    }
    last = line;
    std::fflush(stdout);
    session.loop.run_until([] { return false; }, seconds(1));
  }
}

}  // namespace

int run_status(const StatusFlags& flags) {
  ClusterFlags cluster = flags.cluster;
  auto session = open_in_key_domain(cluster, KeyUse::read, flags.output != "table");
  if (!session) return report(session.error());
  controller::FleetWatch watch(*(*session)->api, (*session)->loop, (*session)->random,
                               *(*session)->log, cluster.fleet());
  if (auto listed = wait_for_fleet(**session, watch); !listed) return report(listed.error());
  if (flags.watch) return follow(**session, watch, flags, cluster.key_conflict);
  show(watch, look_at_fleet(watch, (*session)->loop.now()), flags, Terminal::of_output());
  return ExitCode::ok;
}

int run_why(const WhyFlags& flags) {
  ClusterFlags cluster = flags.cluster;
  auto session = open_in_key_domain(cluster, KeyUse::read, flags.output != "table");
  if (!session) return report(session.error());
  controller::FleetWatch watch(*(*session)->api, (*session)->loop, (*session)->random,
                               *(*session)->log, cluster.fleet());
  if (auto listed = wait_for_fleet(**session, watch); !listed) return report(listed.error());
  FleetStatus status = look_at_fleet(watch, (*session)->loop.now());
  std::vector<std::string> names;
  for (const auto& pool : status.pools) {
    for (const auto& node : pool.nodes) {
      names.push_back(node.name);
      if (node.name != flags.node) continue;
      if (flags.output == "table") {
        print_text(incomplete_text(status, Terminal::of_output()) +
                   why_text(node, pool, Terminal::of_output()));
      } else {
        FleetStatus one{status.at, status.frozen, {pool}, status.incomplete};
        one.pools[0].nodes = {node};
        print_document(to_json(one), flags.output);
      }
      return ExitCode::ok;
    }
  }
  auto rollout = watch.rollouts.all().find(flags.node);
  if (rollout != watch.rollouts.all().end()) {
    if (flags.output == "table") {
      print_text(why_rollout_text(watch.rollouts, rollout->second, (*session)->loop.now()));
    } else {
      print_document(why_rollout_json(watch.rollouts, rollout->second), flags.output);
    }
    return ExitCode::ok;
  }
  bool exists = watch.nodes_watch.cache.find(kube::KeyView("", flags.node)) != nullptr;
  auto near = nearest(flags.node, names);
  return report(Error{ErrorKind::not_found,
                      exists ? "the node has no GPU driver from a driver DaemonSet"
                      : near ? fmt::format("there is no such node; did you mean {}?", *near)
                             : "there is no such node",
                      "node " + flags.node});
}

}  // namespace lockstep::cli

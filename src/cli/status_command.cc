#include "cli/status_command.h"

#include <algorithm>
#include <cstdio>
#include <unistd.h>

#include <fmt/format.h>

#include "base/strings.h"
#include "cli/bake_text.h"
#include "cli/exit_codes.h"
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
std::string rollouts_text(const view::FleetWatch& watch, const FleetStatus& status,
                          const Terminal& terminal) {
  std::string text;
  for (const auto& [name, known] : watch.rollouts().all()) {
    if (known.is_active() || known.spec.paused) {
      text += rollout_tree(operate::report_rollout(watch, known, status), status.at, terminal);
    }
  }
  return text;
}

void show(const view::FleetWatch& watch, const FleetStatus& status, const StatusFlags& flags,
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
std::string lost_contact(const view::FleetWatch& watch) {
  if (!watch.caches().has_lost_contact()) return {};
  const kube::ReflectorStatus& status = watch.caches().contact();
  return fmt::format("no contact since {}: {}", format_rfc3339(status.last_success),
                     status.last_error->text());
}

// Redraws on a terminal; elsewhere a line, or a document, for each change.
int follow(ClusterSession& session, view::FleetWatch& watch, const StatusFlags& flags,
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
  auto fleet = open_fleet(flags.cluster, flags.output != "table");
  if (!fleet) return report(fleet.error());
  if (flags.watch) return follow(*fleet->session, *fleet->watch, flags, fleet->key_conflict);
  show(*fleet->watch, look_at_fleet(*fleet->watch, fleet->now()), flags, Terminal::of_output());
  return ExitCode::ok;
}

int run_why(const WhyFlags& flags) {
  auto fleet = open_fleet(flags.cluster, flags.output != "table");
  if (!fleet) return report(fleet.error());
  FleetStatus status = look_at_fleet(*fleet->watch, fleet->now());
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
  auto rollout = fleet->watch->rollouts().all().find(flags.node);
  if (rollout != fleet->watch->rollouts().all().end()) {
    if (flags.output == "table") {
      print_text(why_rollout_text(fleet->watch->rollouts(), rollout->second, fleet->now()));
    } else {
      print_document(why_rollout_json(fleet->watch->rollouts(), rollout->second), flags.output);
    }
    return ExitCode::ok;
  }
  bool exists = fleet->watch->node(flags.node) != nullptr;
  if (!exists) return report({ErrorKind::not_found, unknown_word("node", flags.node, names), {}});
  return report({ErrorKind::not_found, "the node has no GPU driver of a driver DaemonSet",
                 "node " + flags.node});
}

}  // namespace lockstep::cli

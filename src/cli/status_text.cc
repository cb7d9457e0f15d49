#include "cli/status_text.h"

#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "base/strings.h"
#include "world/terminal_text.h"

namespace lockstep::cli {

namespace {

using fleet::State;

// What needs eyes first.
constexpr std::array display_order = {
    State::failed,       State::validation,    State::pod_restart, State::drain,
    State::pod_deletion, State::wait_for_jobs, State::cordon,      State::uncordon,
    State::required,     State::unknown,       State::done,
};

std::string pool_title(const PoolStatus& pool) {
  return pool.name.empty() ? "fleet" : "pool " + pool.name;
}

std::string limit_text(int64_t limit) { return limit == 0 ? "no limit" : std::to_string(limit); }

std::string head(const PoolStatus& pool, const Terminal& terminal) {
  int width = std::clamp(terminal.width - 60, 10, 40);
  std::string text =
      fmt::format("{} {} {}\n", pool_title(pool),
                  progress_bar(pool.running, pool.counts.total, width), headline(pool));
  text += fmt::format(
      "  active {} of {}   unavailable {} of {}   failed {} of {}{}   policy: {}\n",
      pool.counts.active, limit_text(pool.limits.parallel), pool.counts.unavailable,
      pool.limits.unavailable, pool.counts.failed, pool.limits.failures,
      pool.time_left ? fmt::format("   about {} left", human_duration(*pool.time_left)) : "",
      pool.source.empty() ? "none" : pool.source);
  for (const auto& warning : pool.warnings) {
    text += terminal.paint(fmt::format("  warning: {}\n", one_line(warning)), "33");
  }
  if (!pool.paused.empty()) {
    text += terminal.paint(fmt::format("  paused: {}\n", one_line(pool.paused)), "33");
  }
  if (pool.held && pool.counts.waiting > 0 && pool.held->name != fleet::Reason::paused) {
    text += fmt::format("  waiting nodes: {}\n", one_line(pool.held->line()));
  }
  return text;
}

void add_nodes(std::string& text, const std::vector<const NodeStatus*>& nodes, State state,
               bool last_group, const Terminal& terminal, const StatusTextOptions& options) {
  text += fmt::format("{} {} {}\n", last_group ? "`-" : "|-",
                      terminal.paint(std::string(fleet::display_name(state)), colour_of(state)),
                      nodes.size());
  bool names = options.all_nodes || (state != State::done && state != State::unknown);
  if (!names) return;
  size_t shown = std::min(nodes.size(), options.all_nodes ? nodes.size() : options.most_nodes);
  size_t name_width = 0;
  for (size_t i = 0; i < shown; ++i) name_width = std::max(name_width, nodes[i]->name.size());
  for (size_t i = 0; i < shown; ++i) {
    const NodeStatus& node = *nodes[i];
    std::string line = fmt::format("{}  {} {:<{}}  {:>5}  {}", last_group ? " " : "|",
                                   i + 1 == nodes.size() ? "`-" : "|-", node.name, name_width,
                                   human_duration(node.in_state), one_line(node.reason.line()));
    size_t width = terminal.interactive ? static_cast<size_t>(terminal.width) : line.size();
    text += shorten(line, width) + "\n";
  }
  if (shown < nodes.size()) {
    text += fmt::format("{}  `- and {} more (--all shows them)\n", last_group ? " " : "|",
                        nodes.size() - shown);
  }
}

}  // namespace

std::string headline(const PoolStatus& pool) {
  return fmt::format("{}/{} run {}", pool.running, pool.counts.total,
                     pool.target.empty() ? "the newest driver" : pool.target);
}

std::string incomplete_text(const FleetStatus& status, const Terminal& terminal) {
  if (status.incomplete.empty()) return {};
  return terminal.paint(fmt::format("incomplete: {}\n", status.incomplete), "33");
}

std::string status_text(const FleetStatus& status, const Terminal& terminal,
                        const StatusTextOptions& options) {
  std::string text;
  if (status.frozen) {
    text += terminal.paint(fmt::format("no upgrade starts: {}\n  to resolve: {}\n",
                                       status.frozen->text, status.frozen->remedy),
                           "1;31");
  }
  text += incomplete_text(status, terminal);
  if (status.pools.empty()) {
    return text +
           fmt::format(
               "No node runs a GPU driver from a driver DaemonSet (label "
               "app=nvidia-driver-daemonset or app.kubernetes.io/component=nvidia-driver) "
               "in the namespace {}.\nOther namespaces: --driver-namespaces; lockstep doctor "
               "lists DaemonSets elsewhere that look like a driver.\n",
               join(status.driver_namespaces, " or "));
  }
  for (const auto& pool : status.pools) {
    text += head(pool, terminal);
    std::map<State, std::vector<const NodeStatus*>> groups;
    for (const auto& node : pool.nodes) groups[node.state].push_back(&node);
    size_t left = groups.size();
    for (State state : display_order) {
      auto group = groups.find(state);
      if (group == groups.end()) continue;
      add_nodes(text, group->second, state, --left == 0, terminal, options);
    }
  }
  return text;
}

std::string status_line(const FleetStatus& status) {
  std::vector<std::string> parts;
  for (const auto& pool : status.pools) {
    std::string text = fmt::format("{}: {}{}", pool_title(pool), headline(pool),
                                   pool.paused.empty() ? "" : ", paused");
    for (State state : display_order) {
      auto count = pool.counts.by_state.find(state);
      if (state == State::done || count == pool.counts.by_state.end()) continue;
      text += fmt::format(", {} {}", count->second, fleet::display_name(state));
    }
    parts.push_back(std::move(text));
  }
  return join(parts, "; ");
}

std::string fleet_map(const PoolStatus& pool, const Terminal& terminal) {
  size_t columns = static_cast<size_t>(std::clamp(terminal.width - 4, 16, 96)) / 2;
  std::string text;
  for (size_t i = 0; i < pool.nodes.size(); ++i) {
    if (i % columns == 0) text += i == 0 ? "  " : "\n  ";
    State state = pool.nodes[i].state;
    text += terminal.paint(std::string(1, letter_of(state)), colour_of(state)) + " ";
  }
  return text + "\n";
}

std::string why_text(const NodeStatus& node, const PoolStatus& pool, const Terminal& terminal) {
  std::string text = fmt::format(
      "{}  {} for {}{}{}\n", node.name,
      terminal.paint(std::string(fleet::display_name(node.state)), colour_of(node.state)),
      human_duration(node.in_state), node.cordoned ? ", cordoned" : "",
      node.ready ? "" : ", not Ready");
  text += fmt::format("  why:     {}\n", one_line(node.reason.line()));
  if (!node.reason.remedy.empty()) {
    text += fmt::format("  change:  {}\n", one_line(node.reason.remedy));
  }
  std::string target = pool.target.empty() ? "a newer one" : pool.target;
  text += fmt::format("  driver:  {}, {}{}\n", node.version.empty() ? "unknown" : node.version,
                      node.driver_ready ? "ready" : "not ready",
                      node.in_sync ? ", newest revision" : ", to become " + target);
  text += fmt::format("  GPU pods on the node: {}\n", node.gpu_pods);
  text += fmt::format(
      "  {}: {}, {} active (limit {}), {} unavailable (limit {}), {} failed (limit {})\n",
      pool_title(pool), headline(pool), pool.counts.active, limit_text(pool.limits.parallel),
      pool.counts.unavailable, pool.limits.unavailable, pool.counts.failed, pool.limits.failures);
  return text;
}

}  // namespace lockstep::cli

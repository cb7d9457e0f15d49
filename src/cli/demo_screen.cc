#include "cli/demo_screen.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include <fmt/format.h>

#include "cli/output.h"
#include "cli/status_text.h"
#include "world/terminal_text.h"

namespace lockstep::cli {

namespace {

using fleet::State;

constexpr size_t most_reasons = 8;

std::string legend(const Terminal& terminal) {
  constexpr std::array<std::pair<State, std::string_view>, 7> entries = {
      {{State::required, "waits"},
       {State::cordon, "cordon"},
       {State::pod_deletion, "evict"},
       {State::pod_restart, "restart"},
       {State::validation, "validate"},
       {State::done, "done"},
       {State::failed, "failed"}}};
  std::string text = " ";
  for (const auto& [state, name] : entries) {
    text += fmt::format(" {} {} ",
                        terminal.paint(std::string(1, letter_of(state)), colour_of(state)), name);
  }
  return text + "\n";
}

}  // namespace

void DemoScreen::show(const FleetStatus& status, const std::string& rollout, Duration elapsed,
                      pid_t controller) {
  if (status.pools.empty()) return;
  if (terminal_.interactive) {
    draw(status, rollout, elapsed, controller);
  } else {
    print_changes(status, rollout, elapsed);
  }
  std::fflush(stdout);
}

void DemoScreen::draw(const FleetStatus& status, const std::string& rollout, Duration elapsed,
                      pid_t controller) {
  const PoolStatus& pool = status.pools.front();
  std::string text = fmt::format(
      "{} {}   {}{}\n", progress_bar(pool.running, pool.counts.total, 30), headline(pool),
      human_duration(elapsed),
      pool.time_left ? fmt::format(", about {} left", human_duration(*pool.time_left)) : "");
  text += shorten("rollout  " + rollout, static_cast<size_t>(terminal_.width - 1)) + "\n";
  text += fmt::format("active {} of {}   unavailable {} of {}   failed {}   controller pid {}\n\n",
                      pool.counts.active, pool.limits.parallel, pool.counts.unavailable,
                      pool.limits.unavailable, pool.counts.failed, controller);
  text += fleet_map(pool, terminal_) + legend(terminal_) + "\n";
  size_t shown = 0;
  for (const auto& node : pool.nodes) {
    bool interesting = fleet::is_active(node.state) || node.state == State::failed;
    if (!interesting || shown == most_reasons) continue;
    ++shown;
    std::string line = fmt::format("{:<8} {:<24} {}", node.name, fleet::display_name(node.state),
                                   node.reason.text);
    text += terminal_.paint(shorten(line, static_cast<size_t>(terminal_.width - 1)),
                            node.state == State::failed ? colour_of(State::failed) : "") +
            "\n";
  }
  for (; shown < most_reasons; ++shown) text += "\n";
  std::string screen = drawn_lines_ > 0 ? fmt::format("\x1b[{}A", drawn_lines_) : "";
  // Each line is cleared as it is drawn: nothing flickers.
  for (char c : terminal_text(text)) {
    if (c == '\n') screen += "\x1b[K";
    screen += c;
  }
  fmt::print("{}", screen);
  drawn_lines_ = static_cast<int>(std::count(text.begin(), text.end(), '\n'));
}

void DemoScreen::print_changes(const FleetStatus& status, const std::string& rollout,
                               Duration elapsed) {
  const PoolStatus& pool = status.pools.front();
  std::string failures;
  for (const auto& node : pool.nodes) {
    if (node.state == State::failed) {
      failures += fmt::format("  {} failed: {}\n", node.name, node.reason.line());
    }
  }
  // Its counts change with every node; what it does, now and then.
  std::string headline = rollout.substr(0, rollout.find(':'));
  if (headline != last_rollout_)
    print_text(fmt::format("{:>4}  rollout {}\n", human_duration(elapsed), rollout));
  last_rollout_ = headline;
  std::string line = status_line(status);
  bool due = last_time_ < Duration::zero() || elapsed - last_time_ >= seconds(2);
  if (line != last_line_ && (due || status.at_rest())) {
    print_text(fmt::format("{:>4}  {}\n", human_duration(elapsed), line));
    last_line_ = line;
    last_time_ = elapsed;
  }
  if (failures != last_failures_) print_text(failures);
  last_failures_ = failures;
}

std::string demo_summary(const FleetStatus& status, Duration took, const Terminal& terminal) {
  std::string text;
  for (const auto& pool : status.pools) {
    text += fmt::format("{} of {} nodes upgraded to {} in {}.\n", pool.upgraded, pool.counts.total,
                        pool.target, human_duration(took));
    for (const auto& node : pool.nodes) {
      if (node.state == State::done) continue;
      text += "\n" + why_text(node, pool, terminal);
    }
  }
  return text;
}

}  // namespace lockstep::cli

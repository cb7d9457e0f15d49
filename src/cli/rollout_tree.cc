#include "cli/rollout_tree.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "controller/bake_keeper.h"
#include "controller/live_status.h"
#include "rollout/headline.h"
#include "rollout/pace.h"
#include "world/terminal_text.h"

namespace lockstep::cli {

namespace {

using rollout::Phase;

constexpr int bar_width = 20;

class Tree {
 public:
  Tree(const controller::FleetWatch& watch, const controller::KnownRollout& rollout,
       const FleetStatus& status, const Terminal& terminal)
      : watch_(watch.rollouts),
        rollout_(rollout),
        live_(controller::live_status(watch, rollout)),
        status_(status),
        terminal_(terminal) {}

  std::string text() {
    const rollout::RolloutStatus& status = live_;
    std::string head = fmt::format("rollout {}  {}", rollout_.name(), to_string(status.phase));
    if (status.phase_since.is_set()) {
      head += fmt::format(" for {}", human_duration(status_.at - status.phase_since));
    }
    if (rollout_.spec.paused) head += "  (paused)";
    if (!status.to.version.empty()) {
      const rollout::Direction direction = rollout::direction_of(status);
      head += fmt::format("  {} -> {}", direction.from, direction.to);
    }
    out_ = terminal_.paint(head, is_trouble() ? "1;31" : "1") + "\n";
    // The waves below count the nodes themselves.
    const bool is_counted = status.reason == "Upgrading";
    if (!status.reason.empty() && !is_counted) {
      line("  ", fmt::format("{}: {}", status.reason, one_line(status.message)));
    }
    for (const std::string& problem : rollout_.spec.problems) line("  ", "wrong: " + problem);
    const size_t waves = std::max(status.waves.size(), rollout_.spec.waves.size());
    for (size_t i = 0; i < waves; ++i) add_wave(i, i + 1 == waves);
    return std::move(out_);
  }

 private:
  bool is_trouble() const {
    return rollout_.status.phase == Phase::held || rollout_.status.phase == Phase::rolling_back;
  }
  bool is_current(size_t index) const {
    return static_cast<int64_t>(index) + 1 == rollout_.status.open_waves &&
           !rollout::is_over(rollout_.status.phase);
  }

  // Cut to the terminal's width; whoever reads a file gets all of it.
  void line(std::string_view before, const std::string& text) {
    std::string whole = fmt::format("{}{}", before, text);
    out_ += (terminal_.interactive ? shorten(whole, static_cast<size_t>(terminal_.width)) : whole) +
            "\n";
  }

  void add_wave(size_t index, bool last) {
    const auto& waves = live_.waves;
    const rollout::WaveStatus wave = index < waves.size() ? waves[index] : rollout::WaveStatus{};
    const rollout::WaveSpec* spec =
        index < rollout_.spec.waves.size() ? &rollout_.spec.waves[index] : nullptr;
    const std::string name = !wave.name.empty() || spec == nullptr ? wave.name : spec->name;
    const std::string state = rollout::wave_state(live_, index);
    const auto bake = bake_of(index, wave);
    std::string text =
        fmt::format("{} {:<16} {} {:>4}/{:<5} {}", last ? "`-" : "|-", name,
                    progress_bar(wave.done, wave.nodes, bar_width), wave.done, wave.nodes, state);
    if (wave.failed > 0) text += fmt::format(", {} failed", wave.failed);
    if (auto left = time_left(index, wave, spec, bake)) {
      text += fmt::format(", about {} left", human_duration(*left));
    }
    if (!wave.opened.is_set() && spec != nullptr) text += fmt::format("  ({})", spec->nodes.text());
    line("  ", text);
    const std::string below = last ? "       " : "  |    ";
    for (const rollout::Verdict& gate : wave.gates) {
      line(below, fmt::format("gate {}{}: {} {}", gate.name, gate.dry_run ? " (dry run)" : "",
                              to_string(gate.outcome), gate.text));
    }
    if (bake && spec != nullptr && spec->bake) {
      add_bake(below, *spec->bake, *bake, wave, rollout::is_baking(live_, index));
    }
    if (!wave.verdict_text.empty()) line(below, wave.verdict_text);
    if (!wave.approved_by.empty()) {
      line(below, "approved by " + wave.approved_by);
    } else if (rollout::needs_approval(rollout_.spec, live_, index)) {
      line(below, "needs a user's approval: lockstep rollout promote " + rollout_.name());
    }
  }

  void add_bake(const std::string& below, const rollout::BakeSpec& asked,
                const rollout::BakeVerdict& seen, const rollout::WaveStatus& wave, bool is_baking) {
    // What it came to is what counts of a bake that is over.
    if (!is_baking) {
      return line(below, !wave.bake.empty()
                             ? wave.bake
                             : fmt::format("bake ended after {}", human_duration(seen.passed)));
    }
    const auto part = [](double value, double most) {
      return most > 0 ? static_cast<int64_t>(std::lround(std::clamp(value / most, 0.0, 1.0) * 100))
                      : 100;
    };
    line(below, fmt::format("bake      {} {}",
                            progress_bar(part(in_seconds(seen.passed), in_seconds(asked.duration)),
                                         100, bar_width),
                            rollout::bake_clock(seen.passed, asked.duration)));
    line(below, fmt::format("exposure  {} {:.1f} of {:.1f} GPU-hours",
                            progress_bar(part(seen.gpu_hours, seen.min_gpu_hours), 100, bar_width),
                            seen.gpu_hours, seen.min_gpu_hours));
    line(below, fmt::format("evidence  {} {:.3g}, fails at {:.3g}",
                            progress_bar(part(seen.evidence, seen.limit), 100, bar_width),
                            seen.evidence, seen.limit));
    if (!wave.bake.empty()) line(below, wave.bake);
  }

  std::optional<rollout::BakeVerdict> bake_of(size_t index, const rollout::WaveStatus& wave) const {
    if (!wave.bake_began.is_set()) return std::nullopt;
    const ObjectKey key{watch_.options().ns, controller::bake_name(rollout_.name(), index)};
    const auto map = watch_.waves.cache.find(key);
    const auto kept = map ? controller::KeptBake::from_map(*map) : std::nullopt;
    if (!kept || kept->record.began != wave.bake_began) return std::nullopt;
    return kept->record.judge();
  }

  // Of the wave that is under way; none while it waits for a person.
  std::optional<Duration> time_left(size_t index, const rollout::WaveStatus& wave,
                                    const rollout::WaveSpec* spec,
                                    const std::optional<rollout::BakeVerdict>& bake) const {
    if (!is_current(index) || rollout_.spec.paused) return std::nullopt;
    if (rollout_.status.phase == Phase::baking && bake && spec != nullptr && spec->bake) {
      return rollout::bake_left(*spec->bake, *bake);
    }
    if (rollout_.status.phase != Phase::upgrading) return std::nullopt;
    std::vector<Duration> ages;
    for (const PoolStatus& pool : status_.pools) {
      for (const NodeStatus& node : pool.nodes) {
        const auto at = rollout_.gate.wave_of.find(node.name);
        const bool is_ours = at != rollout_.gate.wave_of.end() && at->second == index;
        if (!is_ours || node.state != fleet::State::done || !node.in_sync) continue;
        if (status_.at - node.in_state >= wave.opened) ages.push_back(node.in_state);
      }
    }
    return rollout::time_by_pace(std::move(ages), wave.nodes - wave.done - wave.failed);
  }

  const controller::RolloutWatch& watch_;
  const controller::KnownRollout& rollout_;
  const rollout::RolloutStatus live_;
  const FleetStatus& status_;
  const Terminal& terminal_;
  std::string out_;
};

}  // namespace

std::string rollout_tree(const controller::FleetWatch& watch,
                         const controller::KnownRollout& rollout, const FleetStatus& status,
                         const Terminal& terminal) {
  return Tree(watch, rollout, status, terminal).text();
}

}  // namespace lockstep::cli

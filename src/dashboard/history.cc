#include "dashboard/history.h"

#include <algorithm>

#include <fmt/format.h>

namespace lockstep::dashboard {

namespace {

constexpr double seconds_per_hour = 3600;

size_t place_of(fleet::State state) { return static_cast<size_t>(state); }

}  // namespace

double History::lost_until(Time now) const {
  if (!lost_at_.is_set() || now <= lost_at_) return lost_;
  return lost_ + static_cast<double>(gpus_out_) * in_seconds(now - lost_at_) / seconds_per_hour;
}

void History::begin(std::vector<Standing> nodes, Time now) {
  began_ = now;
  const Time oldest = now - options_.past;
  std::erase_if(nodes, [&](const Standing& node) {
    return !node.since.is_set() || node.since < oldest || node.since >= now ||
           node.state == fleet::State::unknown;
  });
  std::sort(nodes.begin(), nodes.end(),
            [](const Standing& a, const Standing& b) { return a.since < b.since; });
  if (nodes.empty()) return;
  for (const Standing& node : nodes) {
    note(node.since, node.node, fleet::State::unknown, node.state);
  }
  sample_the_past(nodes, now);
}

// At even distances, from the first node that came into its state; fewer than there may be, so that
// the time to come is not thinned out at once.
void History::sample_the_past(const std::vector<Standing>& nodes, Time now) {
  const auto points = static_cast<int64_t>(std::max<size_t>(options_.samples / 4, 2));
  const Time first = nodes.front().since;
  Sample sample;
  sample.counts = counts_;
  for (const Standing& node : nodes) {
    --sample.counts.at(place_of(node.state));
    ++sample.counts.at(place_of(fleet::State::unknown));
  }
  auto next = nodes.begin();
  for (int64_t i = 0; i < points; ++i) {
    const Time at = first + (now - first) / points * i;
    for (; next != nodes.end() && next->since <= at; ++next) {
      --sample.counts.at(place_of(fleet::State::unknown));
      ++sample.counts.at(place_of(next->state));
    }
    sample.at = unix_milliseconds(at);
    samples_.push_back(sample);
  }
}

void History::enter(uint32_t, fleet::State state, int64_t gpus_out) {
  ++counts_.at(place_of(state));
  gpus_out_ += gpus_out;
}

void History::leave(fleet::State state, int64_t gpus_out, Time now) {
  if (now.is_set()) {
    lost_ = lost_until(now);
    lost_at_ = std::max(lost_at_, now);
  }
  --counts_.at(place_of(state));
  gpus_out_ -= gpus_out;
}

void History::note(Time at, uint32_t node, fleet::State from, fleet::State to) {
  changes_.push_back({unix_milliseconds(at), node, from, to});
  if (changes_.size() <= options_.changes) return;
  changes_.pop_front();
  ++forgotten_;
}

void History::sample(Time now) {
  if (next_.is_set() && now < next_) return;
  lost_ = lost_until(now);
  lost_at_ = std::max(lost_at_, now);
  next_ = now + interval_;
  samples_.push_back({unix_milliseconds(now), lost_, counts_});
  if (samples_.size() <= options_.samples) return;
  std::vector<Sample> kept;
  for (size_t i = 0; i < samples_.size(); i += 2) kept.push_back(samples_[i]);
  samples_ = std::move(kept);
  interval_ *= 2;
}

std::string History::text(Time now, bool with_changes) const {
  std::string out = fmt::format(
      "{{\"began\":{},\"forgotten\":{},\"lost\":{:.3f},\"gpusOut\":{},\"changes\":[",
      began_.is_set() ? unix_milliseconds(began_) : 0, forgotten_, lost_until(now), gpus_out_);
  int64_t last = 0;
  bool first = true;
  for (const Change& change : changes_) {
    if (!with_changes) break;
    fmt::format_to(std::back_inserter(out), "{}[{},{},{},{}]", first ? "" : ",", change.at - last,
                   change.node, static_cast<int>(change.from), static_cast<int>(change.to));
    last = change.at;
    first = false;
  }
  out += "],\"samples\":[";
  last = 0;
  first = true;
  for (const Sample& sample : samples_) {
    fmt::format_to(std::back_inserter(out), "{}[{},{:.3f},{}]", first ? "" : ",", sample.at - last,
                   sample.lost, fmt::join(sample.counts, ","));
    last = sample.at;
    first = false;
  }
  return out + "]}";
}

Json History::states_of(uint32_t node) const {
  JsonArray states;
  for (const Change& change : changes_) {
    if (change.node != node) continue;
    states.push_back(JsonArray{change.at, static_cast<int>(change.to)});
  }
  return states;
}

}  // namespace lockstep::dashboard

#include "rollout/baseline.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/strings.h"
#include "data/json_lines.h"

namespace lockstep::rollout {

namespace {

// How much of its speed before a node must have kept; 1: a number that must not fall at all.
struct KnownSpeed {
  std::string_view check;
  std::string_view name;
  double share;
};
constexpr std::array<KnownSpeed, 7> known_speeds{{
    {"inference", "tflops", 0.95},
    {"memory", "gigabytes_per_second", 0.9},
    {"pcie", "to_gpu_gigabytes_per_second", 0.9},
    {"pcie", "to_host_gigabytes_per_second", 0.9},
    {"peer", "slowest_gigabytes_per_second", 0.9},
    {"nvlink", "active_links", 1},
    {"rdma", "ports_up", 1},
}};
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> known_counts{
    {{"ecc", "uncorrected_aggregate"}, {"rdma", "link_downed"}}};

std::string key_of(std::string_view check, std::string_view name) {
  return fmt::format("{} {}", check, name);
}

double share_of(std::string_view key) {
  for (const KnownSpeed& known : known_speeds) {
    if (key == key_of(known.check, known.name)) return known.share;
  }
  return 1;
}

// Adds one result's numbers; false: it has none that are known.
bool add_numbers(const Json& result, GateNumbers& numbers) {
  bool any = false;
  std::string_view check = text_at(result, "check");
  for (const KnownSpeed& known : known_speeds) {
    const Json* value = find(result, "measured", known.name);
    if (check != known.check || value == nullptr || !value->is_number()) continue;
    any = true;
    double speed = as_number(*value);
    auto [at, is_new] = numbers.speeds.try_emplace(key_of(check, known.name), speed);
    if (!is_new) at->second = std::min(at->second, speed);
  }
  for (const auto& [known_check, name] : known_counts) {
    const Json* value = find(result, "measured", name);
    if (check != known_check || value == nullptr || !value->is_number()) continue;
    any = true;
    numbers.counts[key_of(check, name)] += static_cast<int64_t>(as_number(*value));
  }
  return any;
}

// Calls `each` with every result of `lockstep gate`; other programs leave none.
template <typename Each>
void for_each_result(const GateEnd& end, Each each) {
  auto json = parse_json(end.message);
  const Json* results = json && json->is_object() ? find(*json, "results") : nullptr;
  if (results == nullptr || !results->is_array()) return;
  for (const Json& result : results->get_array()) each(result);
}

// Everything that the gate left inconclusive are numbers that a baseline decides.
bool waits_for_baseline(const GateEnd& end) {
  bool any = false;
  bool all = true;
  for_each_result(end, [&](const Json& result) {
    if (text_at(result, "verdict") != to_string(Outcome::inconclusive)) return;
    GateNumbers numbers;
    any = true;
    all = all && add_numbers(result, numbers);
  });
  return any && all;
}

GateWord inconclusive(std::string text) { return {Outcome::inconclusive, std::move(text)}; }

// The first number that is worse than before beyond its tolerance, or that is missing.
GateWord compare_numbers(const GateNumbers& before, const GateNumbers& after, bool in_use_now) {
  for (const auto& [key, was] : before.counts) {
    auto is = after.counts.find(key);
    if (is == after.counts.end()) return inconclusive(key + " was not counted this time");
    if (is->second <= was) continue;
    return {Outcome::failed,
            fmt::format("{}: {} more than before the upgrade, limit 0", key, is->second - was)};
  }
  for (const auto& [key, was] : before.speeds) {
    auto is = after.speeds.find(key);
    if (is == after.speeds.end()) return inconclusive(key + " was not measured this time");
    const double share = share_of(key);
    const double limit = was * share;
    if (is->second >= limit) continue;
    std::string text = fmt::format("{}: {:.1f}, less than {:.1f} ({} x before the upgrade)", key,
                                   is->second, limit, share);
    // Two at once on a GPU are slower, whatever the driver.
    if (in_use_now && share < 1) {
      return inconclusive(text + "; pods use its GPUs now, and did not before the upgrade");
    }
    return {Outcome::failed, std::move(text)};
  }
  return {Outcome::passed, ""};
}

Json to_json(const GateNumbers& numbers) {
  JsonObject json;
  JsonObject speeds;
  for (const auto& [key, value] : numbers.speeds) speeds[key] = value;
  JsonObject counts;
  for (const auto& [key, value] : numbers.counts) counts[key] = value;
  if (!speeds.empty()) json["speeds"] = std::move(speeds);
  if (!counts.empty()) json["counts"] = std::move(counts);
  if (!numbers.none.empty()) json["none"] = numbers.none;
  return json;
}

GateNumbers numbers_from_json(const Json& json) {
  GateNumbers numbers;
  auto each = [&](std::string_view key, auto take) {
    const Json* map = find(json, key);
    if (map == nullptr || !map->is_object()) return;
    for (const auto& [name, value] : map->get_object()) {
      if (value.is_number()) take(std::string(name), as_number(value));
    }
  };
  each("speeds", [&](const std::string& name, double value) { numbers.speeds[name] = value; });
  each("counts", [&](const std::string& name, double value) {
    numbers.counts[name] = static_cast<int64_t>(value);
  });
  numbers.none = std::string(text_at(json, "none"));
  return numbers;
}

}  // namespace

bool is_compared(const GateSpec& gate) {
  if (gate.kind != GateKind::built_in) return false;
  auto is_known = [&](std::string_view check) { return check == gate.name; };
  return std::any_of(known_speeds.begin(), known_speeds.end(),
                     [&](const KnownSpeed& known) { return is_known(known.check); }) ||
         std::any_of(known_counts.begin(), known_counts.end(),
                     [&](const auto& known) { return is_known(known.first); });
}

bool has_compared_gates(const WaveSpec& wave) {
  return std::any_of(wave.gates.begin(), wave.gates.end(), is_compared);
}

GateNumbers numbers_of(const GateEnd& end) {
  GateNumbers numbers;
  for_each_result(end, [&](const Json& result) { add_numbers(result, numbers); });
  return numbers;
}

GateNumbers no_numbers(std::string_view why) {
  std::string_view kept = why.substr(0, longest_none);
  while (!kept.empty() && !is_valid_utf8(kept)) kept.remove_suffix(1);
  return {{}, {}, std::string(kept)};
}

std::string baseline_id(const RolloutView& view) {
  Time since = view.status.phase_since;
  return fmt::format("{} {}", revision_id(view.target),
                     since.is_set() ? format_rfc3339(since) : "first");
}

std::string WaveBaseline::text() const {
  std::string lines = json_line(JsonObject{
      {"id", id}, {"revision", revision}, {"taken", format_rfc3339(taken)}, {"leftOut", left_out}});
  for (const auto& [name, node] : nodes) {
    JsonObject gates;
    for (const auto& [gate, numbers] : node.gates) gates[gate] = to_json(numbers);
    lines +=
        json_line(JsonObject{{"node", name}, {"inUse", node.in_use}, {"gates", std::move(gates)}});
  }
  return lines;
}

Result<WaveBaseline> WaveBaseline::parse(std::string_view text) {
  WaveBaseline baseline;
  auto read_header = [&](const Json& json) -> Result<void> {
    auto taken = parse_rfc3339(text_at(json, "taken"));
    if (!taken) return fail(ErrorKind::invalid, "a baseline must begin with its time");
    baseline.taken = *taken;
    baseline.id = std::string(text_at(json, "id"));
    baseline.revision = std::string(text_at(json, "revision"));
    baseline.left_out = as_integer(find(json, "leftOut"));
    return {};
  };
  LOCKSTEP_CHECK(read_json_lines(text, read_header, [&](const Json& json) -> Result<void> {
    std::string name(text_at(json, "node"));
    if (name.empty()) return fail(ErrorKind::invalid, "names no node");
    NodeBaseline& node = baseline.nodes[name];
    node.in_use = as_bool(find(json, "inUse"));
    const Json* gates = find(json, "gates");
    if (gates == nullptr || !gates->is_object()) return {};
    for (const auto& [gate, numbers] : gates->get_object()) {
      node.gates[std::string(gate)] = numbers_from_json(numbers);
    }
    return {};
  }));
  return baseline;
}

GateWord compare(const std::string& gate, const std::string& node, const WaveBaseline* before,
                 const GateEnd& end, const GateWord& own, bool in_use) {
  bool is_open = own.outcome == Outcome::inconclusive && waits_for_baseline(end);
  if (own.outcome != Outcome::passed && !is_open) return own;
  const GateNumbers after = numbers_of(end);
  const NodeBaseline* was = nullptr;
  if (before != nullptr) {
    auto at = before->nodes.find(node);
    if (at != before->nodes.end()) was = &at->second;
    if (was == nullptr && before->left_out > 0) return own;
  }
  if (was == nullptr) {
    return after.empty() ? own : inconclusive("no baseline from before the upgrade was recorded");
  }
  auto at = was->gates.find(gate);
  if (at == was->gates.end()) return own;
  if (at->second.empty()) {
    if (after.empty()) return own;
    return inconclusive(fmt::format("no baseline from before the upgrade: {}", at->second.none));
  }
  return compare_numbers(at->second, after, in_use && !was->in_use);
}

std::vector<SpeedPair> speed_pairs(const std::string& gate, const std::string& node,
                                   const WaveBaseline& before, const GateNumbers& after,
                                   bool in_use) {
  std::vector<SpeedPair> pairs;
  auto was = before.nodes.find(node);
  if (was == before.nodes.end() || (in_use && !was->second.in_use)) return pairs;
  auto numbers = was->second.gates.find(gate);
  if (numbers == was->second.gates.end()) return pairs;
  for (const auto& [key, speed] : numbers->second.speeds) {
    auto is = after.speeds.find(key);
    // A value that must not decrease at all is not a speed.
    if (is == after.speeds.end() || share_of(key) == 1) continue;
    pairs.push_back({node, key, speed, is->second});
  }
  return pairs;
}

}  // namespace lockstep::rollout

#include "view/kept_bake.h"

#include <fmt/format.h>

#include "base/strings.h"

namespace lockstep::view {

namespace {

constexpr std::string_view count_label = "nvidia.com/gpu.count";

// What a node says: counts by kind; nothing: it says nothing.
std::optional<std::map<std::string, int64_t>> health_of(const Node& node) {
  std::string_view text = node.meta.annotations.get(health_annotation);
  if (text.empty()) return std::nullopt;
  auto json = parse_json(text);
  if (!json || !json->is_object()) return std::nullopt;
  std::map<std::string, int64_t> counts;
  for (const auto& [kind, count] : json->get_object()) {
    if (count.is_int64()) counts[std::string(kind)] = count.get_int64();
  }
  return counts;
}

int64_t labelled_gpus(const Node& node) {
  return parse_integer(node.meta.labels.get(count_label)).value_or(0);
}

}  // namespace

std::string bake_name(const std::string& rollout, size_t wave) {
  return fmt::format("lockstep-bake-{}-{}", rollout, wave);
}

Json KeptBake::to_json(const ObjectKey& key, const std::string& rollout,
                       const std::string& resource_version) const {
  JsonObject metadata{{"name", key.name},
                      {"namespace", key.ns},
                      {"labels", JsonObject{{"app.kubernetes.io/managed-by", "lockstep"},
                                            {fleet::rollout_label, rollout}}}};
  if (!resource_version.empty()) metadata["resourceVersion"] = resource_version;
  // Of most nodes there is nothing to say but that they have reported.
  std::string reported;
  JsonObject counts;
  for (const auto& [node, kinds] : seen) {
    if (kinds.empty()) {
      reported += (reported.empty() ? "" : " ") + node;
    } else {
      counts[node] = counts_to_json(kinds);
    }
  }
  JsonObject gpus;
  for (const auto& [model, sums] : busy) {
    JsonArray all;
    for (const BusyGpus::BySide* side : {&sums.upgraded, &sums.control}) {
      for (int64_t each : *side) all.push_back(each);
    }
    gpus[model] = std::move(all);
  }
  return JsonObject{
      {"apiVersion", "v1"},
      {"kind", "ConfigMap"},
      {"metadata", std::move(metadata)},
      {"data", JsonObject{{"record", record.text()},
                          {"opened", opened.is_set() ? format_rfc3339(opened) : ""},
                          {"until", until.is_set() ? format_rfc3339_micro(until) : ""},
                          {"reported", reported},
                          {"seen", print_json(Json(std::move(counts)))},
                          {"busy", print_json(Json(std::move(gpus)))}}}};
}

std::optional<KeptBake> KeptBake::from_map(const ConfigMap& map) {
  auto record = rollout::BakeRecord::parse(map.data.get("record"));
  auto seen = parse_json(map.data.get("seen"));
  auto busy = parse_json(map.data.get("busy"));
  const bool is_whole = record && seen && seen->is_object() && busy && busy->is_object();
  if (!is_whole) return std::nullopt;
  KeptBake kept;
  kept.record = std::move(*record);
  kept.opened = parse_rfc3339(map.data.get("opened")).value_or(Time());
  kept.until = parse_rfc3339(map.data.get("until")).value_or(Time());
  for (std::string_view node : split(map.data.get("reported"), ' ')) {
    if (!node.empty()) kept.seen[std::string(node)];
  }
  for (const auto& [node, kinds] : seen->get_object()) {
    auto& counts = kept.seen[std::string(node)];
    if (!kinds.is_object()) continue;
    for (const auto& [kind, count] : kinds.get_object()) {
      counts[std::string(kind)] = as_integer(&count);
    }
  }
  for (const auto& [model, sums] : busy->get_object()) {
    BusyGpus& gpus = kept.busy[std::string(model)];
    constexpr size_t places = std::tuple_size_v<BusyGpus::BySide>;
    if (!sums.is_array() || sums.get_array().size() != 2 * places) return std::nullopt;
    for (size_t i = 0; i < places; ++i) {
      gpus.upgraded[i] = as_integer(&sums.get_array()[i]);
      gpus.control[i] = as_integer(&sums.get_array()[places + i]);
    }
  }
  return kept;
}

std::optional<KeptBake> kept_bake(const RolloutWatch& watch, const std::string& rollout,
                                  size_t wave) {
  auto map = watch.record(bake_name(rollout, wave));
  return map ? KeptBake::from_map(*map) : std::nullopt;
}

std::optional<rollout::BakeVerdict> bake_so_far(const RolloutWatch& watch,
                                                const KnownRollout& rollout, size_t wave) {
  if (wave >= rollout.status.waves.size()) return std::nullopt;
  const Time began = rollout.status.waves[wave].bake_began;
  if (!began.is_set()) return std::nullopt;
  auto kept = kept_bake(watch, rollout.name(), wave);
  if (!kept || kept->record.began != began) return std::nullopt;
  return kept->record.judge();
}

ReadHealth read_health(const std::shared_ptr<const Node>& node) {
  ReadHealth read{node, health_of(*node), labelled_gpus(*node)};
  if (read.gpus == 0 && read.counts && read.counts->contains("gpus")) {
    read.gpus = read.counts->at("gpus");
  }
  return read;
}

}  // namespace lockstep::view

#include "rollout/rollout_spec.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/gate_checks.h"
#include "base/strings.h"
#include "data/strict_reader.h"
#include "objects/names.h"
#include "rollout/asked_gate.h"
#include "rollout/job_gate.h"
#include "upgrade/pod_names.h"

namespace lockstep::rollout {

namespace {

constexpr int64_t most_nodes = 1'000'000;

void read_driver(StrictReader& reader, DriverTarget& driver) {
  reader.choice("kind", driver.kind,
                {{"ClusterPolicy", DriverKind::cluster_policy},
                 {"NVIDIADriver", DriverKind::nvidia_driver},
                 {"DaemonSet", DriverKind::daemon_set}});
  reader.text("name", driver.name).required("name");
}

void read_selection(StrictReader& reader, NodeSelection& selection) {
  int ways = 0;
  auto number = [&](std::string_view key, int64_t most, NodeSelection::Kind kind) {
    if (!reader.has(key)) return;
    ++ways;
    selection.kind = kind;
    reader.number(key, selection.number, 1, most);
  };
  if (reader.has("matchLabels") || reader.has("matchExpressions")) {
    ++ways;
    selection.kind = NodeSelection::Kind::labels;
    auto labels = LabelSelector::from_json(&reader.json());
    if (labels) {
      selection.labels = *labels;
    } else {
      reader.refuse(labels.error().place, labels.error().message);
    }
  }
  number("count", most_nodes, NodeSelection::Kind::count);
  number("percent", 100, NodeSelection::Kind::percent);
  bool rest = false;
  reader.flag("rest", rest).unused({"matchLabels", "matchExpressions", "count", "percent"});
  if (rest) ++ways;
  if (ways != 1) reader.refuse("must have one of matchLabels, count, percent and rest: true");
}

void read_bake(StrictReader& reader, BakeSpec& bake) {
  reader.duration("duration", bake.duration);
  bake.max_duration = 2 * bake.duration;
  reader.duration("maxDuration", bake.max_duration);
  constexpr double most_hours = 1e9;
  reader.decimal("minGpuHours", bake.min_gpu_hours, 0, most_hours);
  reader.decimal("alpha", bake.alpha, 1e-6, 0.5);
  reader.decimal("speedMargin", bake.speed_margin, 0, 1);
  if (bake.max_duration < bake.duration) {
    reader.refuse("maxDuration", "must not be shorter than duration");
  }
}

// Empty: it is one of ours.
std::string unknown_gate(const std::string& name) {
  std::vector<std::string> known;
  for (const GateCheck& check : gate_checks) known.emplace_back(check.name);
  bool is_known = std::find(known.begin(), known.end(), name) != known.end();
  return is_known ? std::string() : unknown_word("gate", name, known);
}

void read_gate_details(StrictReader& reader, GateSpec& gate) {
  constexpr std::pair<std::string_view, GateKind> kinds[] = {
      {"job", GateKind::job}, {"prometheus", GateKind::prometheus}, {"webhook", GateKind::webhook}};
  int ways = 0;
  for (const auto& [key, kind] : kinds) {
    if (!reader.has(key)) continue;
    ++ways;
    gate.kind = kind;
    reader.within(key, [&](StrictReader& details) {
      gate.details = details.json();
      if (kind == GateKind::job) return check_job_gate(details);
      (void)read_asked_gate(kind, details);
    });
  }
  reader.unused({"job", "prometheus", "webhook"});
  if (ways > 1) reader.refuse("must have one of job, prometheus and webhook");
}

void read_gate(StrictReader& reader, GateSpec& gate) {
  auto check_known = [&](std::string_view key) {
    if (std::string wrong = unknown_gate(gate.name); !wrong.empty()) reader.refuse(key, wrong);
  };
  if (reader.json().is_string()) {
    reader.text(gate.name);
    return check_known({});
  }
  reader.as_map([&](StrictReader& map) {
    map.text("name", gate.name).flag("dryRun", gate.dry_run).required("name");
    read_gate_details(map, gate);
    if (gate.name.empty()) return;
    // It is part of labels and of keys of ConfigMaps.
    if (!check_dns_label(gate.name).empty()) {
      map.refuse("name", "must have at most 63 lower-case letters, digits and dashes");
    } else if (gate.kind == GateKind::built_in) {
      check_known("name");
    }
  });
}

void read_approvers(StrictReader& reader, Approvers& approvers) {
  reader.texts("groups", approvers.groups).flag("notAuthor", approvers.not_author);
  for (size_t i = 0; i < approvers.groups.size(); ++i) {
    if (approvers.groups[i].empty()) {
      reader.refuse(fmt::format("groups[{}]", i), "must be the name of a group");
    }
  }
  if (approvers.groups.empty() && !approvers.not_author) {
    reader.refuse("must have groups or notAuthor: true");
  }
}

void read_wave(StrictReader& reader, WaveSpec& wave) {
  reader.text("name", wave.name).required("name");
  reader.within("nodes", [&](StrictReader& nodes) { read_selection(nodes, wave.nodes); });
  reader.required("nodes");
  reader.texts("stratify", wave.stratify).text("spreadBy", wave.spread_by);
  reader.number("maxParallelUpgrades", wave.max_parallel, 0, most_nodes);
  reader.items("gates", [&](StrictReader& gate) { read_gate(gate, wave.gates.emplace_back()); });
  reader.within("bake", [&](StrictReader& bake) { read_bake(bake, wave.bake.emplace()); });
  reader.choice("approval", wave.needs_approval, {{"none", false}, {"required", true}});
  reader.within("approvers", [&](StrictReader& approvers) {
    read_approvers(approvers, wave.approvers);
    wave.needs_approval = true;
  });
}

void check_waves(RolloutSpec& spec, StrictReader& reader) {
  std::set<std::string> names;
  for (size_t i = 0; i < spec.waves.size(); ++i) {
    const WaveSpec& wave = spec.waves[i];
    const std::string field = fmt::format("waves[{}]", i);
    if (!wave.name.empty() && !names.insert(wave.name).second) {
      reader.refuse(field + ".name",
                    fmt::format("\"{}\" is already the name of another wave", wave.name));
    }
    if (wave.nodes.kind == NodeSelection::Kind::rest && i + 1 < spec.waves.size()) {
      reader.refuse(field, fmt::format("takes the rest of the nodes, and {} follow it",
                                       spec.waves.size() - i - 1));
    }
  }
  // Every node is in a wave.
  if (spec.waves.back().nodes.kind != NodeSelection::Kind::rest) {
    WaveSpec rest;
    rest.name = names.contains("rest") ? "everyone-else" : "rest";
    spec.waves.push_back(std::move(rest));
  }
}

}  // namespace

std::string NodeSelection::text() const {
  switch (kind) {
    case Kind::labels:
      return labels.text();
    case Kind::count:
      return upgrade::counted(static_cast<size_t>(number), "node");
    case Kind::percent:
      return fmt::format("{}% of all", number);
    case Kind::rest:
      return "the rest";
  }
  return "";
}

bool GateSpec::operator==(const GateSpec& other) const {
  return name == other.name && kind == other.kind && dry_run == other.dry_run &&
         json_equal(details, other.details);
}

std::vector<WaveSpec> default_waves() {
  WaveSpec canary;
  canary.name = "canary";
  canary.nodes.kind = NodeSelection::Kind::count;
  canary.nodes.number = 1;
  canary.stratify = {std::string(gpu_model_label)};
  canary.max_parallel = 1;
  WaveSpec tenth;
  tenth.name = "tenth";
  tenth.nodes.kind = NodeSelection::Kind::percent;
  tenth.nodes.number = 10;
  WaveSpec rest;
  rest.name = "rest";
  return {canary, tenth, rest};
}

namespace {

void read_spec(StrictReader& reader, RolloutSpec& spec) {
  reader.within("driver", [&](StrictReader& driver) { read_driver(driver, spec.driver); });
  reader.required("driver");
  reader.within("matrix", [&](StrictReader& matrix) {
    spec.matrix.emplace();
    matrix.text("repo", spec.matrix->repository).required("repo");
    matrix.text("branch", spec.matrix->branch).text("path", spec.matrix->path);
  });
  if (const Json* policy = reader.get("policy")) spec.policy = *policy;
  reader.items("waves", [&](StrictReader& item) {
    WaveSpec& wave = spec.waves.emplace_back();
    item.as_map([&](StrictReader& map) { read_wave(map, wave); });
  });
  if (!spec.waves.empty()) check_waves(spec, reader);
  reader.within("groups",
                [&](StrictReader& groups) { groups.text("by", spec.group_by).required("by"); });
  reader.each("windows",
              [&](StrictReader& window) { spec.windows.push_back(read_window(window)); });
  reader.choice("onFailure", spec.on_failure,
                {{"RollBack", OnFailure::roll_back}, {"Hold", OnFailure::hold}});
  reader.choice("outsideWave", spec.outside_wave,
                {{"contain", OutsideWave::contain}, {"accept", OutsideWave::accept}});
  reader.flag("paused", spec.paused);
}

}  // namespace

RolloutSpec read_rollout_spec(const Json& object) {
  RolloutSpec spec;
  const Json* json = find(object, "spec");
  static const Json nothing = JsonObject{};
  Reading reading("spec");
  reading.map(json == nullptr ? nothing : *json,
              [&](StrictReader& reader) { read_spec(reader, spec); });
  spec.problems = reading.texts();
  if (spec.waves.empty()) spec.waves = default_waves();
  spec.author = text_at(object, "metadata", "annotations", spec_by_annotation);
  return spec;
}

}  // namespace lockstep::rollout

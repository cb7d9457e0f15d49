#include "rollout/rollout_spec.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/gate_checks.h"
#include "base/strings.h"
#include "objects/names.h"
#include "rollout/asked_gate.h"
#include "rollout/job_gate.h"
#include "rollout/spec_fields.h"
#include "upgrade/pod_names.h"

namespace lockstep::rollout {

namespace {

constexpr int64_t most_nodes = 1'000'000;

void read_driver(const Json& json, RolloutSpec& spec) {
  Fields fields(json, "spec.driver", spec.problems);
  std::string kind = "ClusterPolicy";
  fields.text("kind", kind);
  fields.text("name", spec.driver.name);
  static const std::map<std::string, DriverKind> kinds = {
      {"ClusterPolicy", DriverKind::cluster_policy},
      {"NVIDIADriver", DriverKind::nvidia_driver},
      {"DaemonSet", DriverKind::daemon_set}};
  auto at = kinds.find(kind);
  if (at == kinds.end()) {
    fields.complain("kind", "must be ClusterPolicy, NVIDIADriver or DaemonSet, and is " + kind);
  } else {
    spec.driver.kind = at->second;
  }
  if (spec.driver.name.empty()) fields.complain("name", "is missing");
}

NodeSelection read_selection(const Json& json, const std::string& path,
                             std::vector<std::string>& problems) {
  NodeSelection selection;
  Fields fields(json, path, problems);
  int ways = 0;
  if (fields.get("matchLabels") != nullptr || fields.get("matchExpressions") != nullptr) {
    ++ways;
    selection.kind = NodeSelection::Kind::labels;
    auto labels = LabelSelector::from_json(&json);
    if (labels) {
      selection.labels = *labels;
    } else {
      fields.complain("", labels.error().text());
    }
  }
  (void)fields.get("matchExpressions");
  if (auto count = fields.number("count", 1, most_nodes)) {
    ++ways;
    selection.kind = NodeSelection::Kind::count;
    selection.number = *count;
  }
  if (auto percent = fields.number("percent", 1, 100)) {
    ++ways;
    selection.kind = NodeSelection::Kind::percent;
    selection.number = *percent;
  }
  bool rest = false;
  fields.flag("rest", rest);
  if (rest) ++ways;
  if (ways != 1) {
    fields.complain("", "must say one of matchLabels, count, percent and rest: true");
  }
  return selection;
}

BakeSpec read_bake(const Json& json, const std::string& path, std::vector<std::string>& problems) {
  BakeSpec bake;
  Fields fields(json, path, problems);
  fields.duration("duration", bake.duration);
  bake.max_duration = 2 * bake.duration;
  fields.duration("maxDuration", bake.max_duration);
  constexpr double most_hours = 1e9;
  double least = -1;
  fields.decimal("minGpuHours", 0, most_hours, least);
  if (least >= 0) bake.min_gpu_hours = least;
  fields.decimal("alpha", 1e-6, 0.5, bake.alpha);
  fields.decimal("speedMargin", 0, 1, bake.speed_margin);
  if (bake.max_duration < bake.duration) {
    fields.complain("maxDuration", "must not be shorter than duration");
  }
  return bake;
}

std::vector<std::string> names_of_checks() {
  std::vector<std::string> names;
  for (const GateCheck& check : gate_checks) names.emplace_back(check.name);
  return names;
}

GateSpec read_gate(const Json& json, const std::string& path, std::vector<std::string>& problems) {
  GateSpec gate;
  auto check_name = [&] {
    if (gate.kind != GateKind::built_in) return;
    const std::vector<std::string> built_in_gates = names_of_checks();
    if (std::find(built_in_gates.begin(), built_in_gates.end(), gate.name) !=
        built_in_gates.end()) {
      return;
    }
    auto near = nearest(gate.name, built_in_gates);
    problems.push_back(fmt::format("{} is no built-in gate: {}{}", path, gate.name,
                                   near ? "; did you mean " + *near + "?"
                                        : " (there are " + join(built_in_gates, ", ") + ")"));
  };
  if (json.is_string()) {
    gate.name = std::string(as_text(&json));
    check_name();
    return gate;
  }
  Fields fields(json, path, problems);
  fields.text("name", gate.name);
  fields.flag("dryRun", gate.dry_run);
  static const std::vector<std::pair<std::string, GateKind>> kinds = {
      {"job", GateKind::job}, {"prometheus", GateKind::prometheus}, {"webhook", GateKind::webhook}};
  int ways = 0;
  for (const auto& [key, kind] : kinds) {
    const Json* details = fields.get(key);
    if (details == nullptr) continue;
    ++ways;
    gate.kind = kind;
    gate.details = *details;
    if (!details->is_object()) fields.complain(key, "must be a map");
    if (!details->is_object()) continue;
    if (kind == GateKind::job) {
      check_job_gate(*details, fields.path(key), problems);
    } else {
      (void)read_asked_gate(kind, *details, fields.path(key), problems);
    }
  }
  if (ways > 1) fields.complain("", "must have one of job, prometheus and webhook");
  if (gate.name.empty()) {
    fields.complain("name", "is missing");
  } else if (!check_dns_label(gate.name).empty()) {
    // It is part of labels and of keys of ConfigMaps.
    fields.complain("name", "must be lower-case letters, digits and dashes, 63 at most");
  } else {
    check_name();
  }
  return gate;
}

Approvers read_approvers(const Json& json, const std::string& path,
                         std::vector<std::string>& problems) {
  Approvers approvers;
  Fields fields(json, path, problems);
  fields.list("groups", [&](const Json& entry, const std::string& where) {
    if (!entry.is_string() || as_text(&entry).empty())
      problems.push_back(where + " must be a group");
    approvers.groups.emplace_back(as_text(&entry));
  });
  fields.flag("notAuthor", approvers.not_author);
  if (approvers.groups.empty() && !approvers.not_author) {
    fields.complain("", "must have groups or notAuthor: true");
  }
  return approvers;
}

WaveSpec read_wave(const Json& json, const std::string& path, std::vector<std::string>& problems) {
  WaveSpec wave;
  Fields fields(json, path, problems);
  fields.text("name", wave.name);
  if (wave.name.empty()) fields.complain("name", "is missing");
  if (const Json* nodes = fields.get("nodes")) {
    wave.nodes = read_selection(*nodes, fields.path("nodes"), problems);
  } else {
    fields.complain("nodes", "is missing");
  }
  fields.list("stratify", [&](const Json& entry, const std::string& where) {
    if (!entry.is_string()) problems.push_back(where + " must be a label");
    wave.stratify.emplace_back(as_text(&entry));
  });
  fields.text("spreadBy", wave.spread_by);
  wave.max_parallel = fields.number("maxParallelUpgrades", 0, most_nodes);
  fields.list("gates", [&](const Json& entry, const std::string& where) {
    wave.gates.push_back(read_gate(entry, where, problems));
  });
  if (const Json* bake = fields.get("bake")) {
    wave.bake = read_bake(*bake, fields.path("bake"), problems);
  }
  std::string approval = "none";
  fields.text("approval", approval);
  wave.needs_approval = approval == "required";
  if (approval != "none" && approval != "required") {
    fields.complain("approval", "must be none or required, and is " + approval);
  }
  if (const Json* approvers = fields.get("approvers")) {
    wave.approvers = read_approvers(*approvers, fields.path("approvers"), problems);
    wave.needs_approval = true;
  }
  return wave;
}

void check_waves(RolloutSpec& spec) {
  std::set<std::string> names;
  for (size_t i = 0; i < spec.waves.size(); ++i) {
    const WaveSpec& wave = spec.waves[i];
    if (!wave.name.empty() && !names.insert(wave.name).second) {
      spec.problems.push_back(fmt::format("spec.waves[{}].name {} is there twice", i, wave.name));
    }
    if (wave.nodes.kind == NodeSelection::Kind::rest && i + 1 < spec.waves.size()) {
      spec.problems.push_back(fmt::format("spec.waves[{}] takes the rest, and {} come after it", i,
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

RolloutSpec read_rollout_spec(const Json& object) {
  RolloutSpec spec;
  const Json* json = find(object, "spec");
  static const Json nothing = JsonObject{};
  Fields fields(json == nullptr ? nothing : *json, "spec", spec.problems);
  if (const Json* driver = fields.get("driver")) {
    read_driver(*driver, spec);
  } else {
    fields.complain("driver", "is missing");
  }
  if (const Json* matrix = fields.get("matrix")) {
    Fields place(*matrix, "spec.matrix", spec.problems);
    spec.matrix.emplace();
    place.text("repo", spec.matrix->repository);
    place.text("branch", spec.matrix->branch);
    place.text("path", spec.matrix->path);
    if (spec.matrix->repository.empty()) place.complain("repo", "is missing");
  }
  if (const Json* policy = fields.get("policy")) spec.policy = *policy;
  fields.list("waves", [&](const Json& entry, const std::string& path) {
    spec.waves.push_back(read_wave(entry, path, spec.problems));
  });
  if (spec.waves.empty()) {
    spec.waves = default_waves();
  } else {
    check_waves(spec);
  }
  if (const Json* groups = fields.get("groups")) {
    Fields group_fields(*groups, "spec.groups", spec.problems);
    group_fields.text("by", spec.group_by);
    if (spec.group_by.empty()) group_fields.complain("by", "is missing");
  }
  fields.list("windows", [&](const Json& entry, const std::string& path) {
    auto window = read_window(entry);
    if (window) {
      spec.windows.push_back(*window);
    } else {
      spec.problems.push_back(window.error().at(path).text());
    }
  });
  std::string on_failure = "RollBack";
  fields.text("onFailure", on_failure);
  spec.on_failure = on_failure == "Hold" ? OnFailure::hold : OnFailure::roll_back;
  if (on_failure != "RollBack" && on_failure != "Hold") {
    fields.complain("onFailure", "must be RollBack or Hold, and is " + on_failure);
  }
  std::string outside_wave = "contain";
  fields.text("outsideWave", outside_wave);
  spec.outside_wave = outside_wave == "accept" ? OutsideWave::accept : OutsideWave::contain;
  if (outside_wave != "contain" && outside_wave != "accept") {
    fields.complain("outsideWave", "must be contain or accept, and is " + outside_wave);
  }
  fields.flag("paused", spec.paused);
  spec.author = text_at(object, "metadata", "annotations", spec_by_annotation);
  return spec;
}

}  // namespace lockstep::rollout

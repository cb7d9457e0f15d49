#include "cli/reroll_command.h"

#include <cstdio>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/exit_codes.h"
#include "cli/output.h"
#include "cli/status_command.h"
#include "controller/reroller.h"
#include "upgrade/pod_names.h"

namespace lockstep::cli {

namespace {

using controller::RerollOptions;
using controller::RerollOutcome;

Result<Duration> duration_of(const std::string& text, std::string_view flag) {
  auto duration = parse_duration(text);
  if (!duration) return fail(duration.error().at(flag));
  if (*duration < Duration::zero()) {
    return fail(ErrorKind::invalid, "a time cannot be negative", std::string(flag));
  }
  return duration;
}

Result<RerollOptions> options_of(const RerollFlags& flags) {
  RerollOptions options;
  options.driver_namespace = flags.driver_namespace;
  options.plugin_namespace = flags.plugin_namespace;
  options.key_domain = flags.cluster.fleet().key_domain;
  options.driver_version = flags.driver_version;
  options.chart_version = flags.chart_version;
  options.dry_run = flags.dry_run;
  // An empty one would be a list over all namespaces, which is not what its roles allow.
  if (flags.driver_namespace.empty()) {
    return fail(ErrorKind::invalid, "name a namespace", "--driver-namespace");
  }
  if (flags.plugin_namespace.empty()) {
    return fail(ErrorKind::invalid, "name a namespace", "--plugin-namespace");
  }
  if (!flags.plugin_selector.empty()) {
    auto selector = LabelSelector::parse(flags.plugin_selector);
    if (!selector) return fail(selector.error().at("--plugin-selector"));
    options.plugin_selector = std::move(*selector);
  }
  LOCKSTEP_TRY(options.timeout, duration_of(flags.timeout, "--timeout"));
  LOCKSTEP_TRY(options.rollout_timeout, duration_of(flags.rollout_timeout, "--rollout-timeout"));
  LOCKSTEP_TRY(options.settle, duration_of(flags.settle, "--settle"));
  auto parallel = IntOrPercent::parse(flags.parallel);
  if (!parallel) return fail(parallel.error().at("--parallel"));
  if (parallel->value < 1) {
    return fail(ErrorKind::invalid, "must be at least one", "--parallel");
  }
  options.parallel = *parallel;
  return options;
}

JsonArray to_json(const std::vector<upgrade::RerollWait>& waits) {
  JsonArray array;
  for (const auto& wait : waits) {
    array.push_back(JsonObject{{"where", wait.where}, {"why", wait.why}});
  }
  return array;
}

Json to_json(const RerollOutcome& outcome, const std::vector<std::string>& restarted) {
  auto texts = [](const std::vector<std::string>& lines) {
    JsonArray array;
    for (const auto& line : lines) array.emplace_back(line);
    return array;
  };
  JsonArray stale;
  for (const auto& plugin : outcome.view.stale) {
    stale.push_back(
        JsonObject{{"node", plugin.key.second}, {"pod", upgrade::name_pod(*plugin.pod)}});
  }
  return JsonObject{{"outcome", to_string(outcome.kind)},
                    {"message", outcome.text},
                    {"gpuNodes", outcome.view.gpu_nodes},
                    {"migrating", to_json(outcome.view.migrating)},
                    {"stale", std::move(stale)},
                    {"starting", to_json(outcome.view.starting)},
                    {"notWaitedFor", to_json(outcome.view.left)},
                    {"restarted", texts(restarted)}};
}

void print_dry_run(const RerollOutcome& outcome) {
  if (!outcome.view.migrated()) {
    fmt::print("would wait for the driver: {}\n", describe_migration(outcome.view));
  }
  if (!outcome.view.left.empty()) {
    fmt::print("would not wait for: {}\n", describe_left(outcome.view));
  }
  for (const auto& plugin : outcome.view.stale) {
    fmt::print("would restart {} on {}\n", upgrade::name_pod(*plugin.pod), plugin.key.second);
  }
  if (outcome.view.migrated() && outcome.view.stale.empty()) {
    fmt::print("no plugin pod is older than its node's driver\n");
  }
}

}  // namespace

int run_reroll(const RerollFlags& flags) {
  auto options = options_of(flags);
  if (!options) return report(options.error());
  auto session = ClusterSession::open(flags.cluster);
  if (!session) return report(session.error());
  // Documents go to standard output, and what happens meanwhile beside it.
  std::FILE* progress = flags.output == "table" ? stdout : stderr;
  controller::Reroller reroller(*(*session)->api, (*session)->loop, (*session)->random,
                                *(*session)->log, *options, [&](const std::string& line) {
                                  print_text(line + "\n", progress);
                                  // A pod's log is read while it runs.
                                  std::fflush(progress);
                                });
  reroller.start();
  // It keeps its own time.
  (*session)->loop.run_until([&] { return reroller.outcome().has_value(); }, Duration::max());
  const RerollOutcome& outcome = *reroller.outcome();
  if (flags.output != "table") {
    print_document(to_json(outcome, reroller.restarted()), flags.output);
  } else if (outcome.kind == RerollOutcome::Kind::dry_run) {
    print_dry_run(outcome);
  } else {
    for (const auto& pod : reroller.restarted()) fmt::print("restarted {}\n", pod);
    if (!outcome.error) print_text(outcome.text + "\n");
  }
  return outcome.error ? report(*outcome.error) : ExitCode::ok;
}

}  // namespace lockstep::cli

#include "cli/gate_on_node.h"

#include <algorithm>
#include <cstdio>
#include <optional>

#include <fmt/format.h>

#include "base/time.h"
#include "cli/exit_codes.h"
#include "cli/output.h"
#include "cli/status_command.h"
#include "controller/gate_jobs.h"
#include "gpu/gate.h"
#include "gpu/gate_summary.h"
#include "kube/sync_api.h"
#include "rollout/gate_end.h"

namespace lockstep::cli {

namespace {

constexpr int64_t kept_seconds = 3600;
constexpr std::string_view by_hand = "by-hand";
const ObjectKey controller_deployment{"lockstep-system", "lockstep-controller"};

// Files of this machine, and what only tests of this machine want.
Result<void> check_flags(const GateFlags& flags) {
  auto not_here = [](std::string_view flag) {
    return fail(ErrorKind::invalid, "applies to this machine: not with --node", std::string(flag));
  };
  if (!flags.baseline.empty()) return not_here("--baseline");
  if (!flags.save_baseline.empty()) return not_here("--save-baseline");
  if (!flags.termination_message.empty()) return not_here("--termination-message");
  if (!flags.root.empty()) return not_here("--root");
  LOCKSTEP_CHECK(gpu::chosen_checks(flags.checks));
  return {};
}

std::vector<std::string> words_of(const GateFlags& flags) {
  std::vector<std::string> words = flags.checks;
  auto add = [&](std::string flag, const std::string& value) {
    words.push_back(std::move(flag));
    words.push_back(value);
  };
  if (!flags.expect_driver.empty()) add("--expect-driver", flags.expect_driver);
  if (flags.gpus != std::vector<std::string>{"all"}) {
    add("--gpus", fmt::format("{}", fmt::join(flags.gpus, ",")));
  }
  add("--budget", flags.budget);
  return words;
}

// The one that the controller gives to the gates of rollouts, so that both are the same program.
std::string image_of_gates(kube::SyncApi& api, const GateFlags& flags) {
  constexpr std::string_view argument = "--gate-image=";
  if (!flags.image.empty()) return flags.image;
  auto found = api.get(resource::deployments, controller_deployment);
  const Json* containers =
      found ? find(**found, "spec", "template", "spec", "containers") : nullptr;
  if (containers != nullptr && containers->is_array()) {
    for (const Json& container : containers->get_array()) {
      const Json* args = find(container, "args");
      if (args == nullptr || !args->is_array()) continue;
      for (const Json& arg : args->get_array()) {
        std::string_view text = as_text(&arg);
        if (text.starts_with(argument)) return std::string(text.substr(argument.size()));
      }
    }
  }
  return controller::GateJobsOptions().image;
}

Json job_object(const GateFlags& flags, const std::string& name, const std::string& image,
                Duration limit) {
  JsonObject labels{{"app.kubernetes.io/managed-by", "lockstep"},
                    {controller::gate_label, by_hand}};
  JsonObject pod = controller::gate_pod(image, flags.node, words_of(flags));
  auto deadline = std::chrono::duration_cast<std::chrono::seconds>(limit).count();
  return JsonObject{
      {"apiVersion", "batch/v1"},
      {"kind", "Job"},
      {"metadata", JsonObject{{"name", name}, {"namespace", flags.ns}, {"labels", labels}}},
      {"spec", JsonObject{{"backoffLimit", 0},
                          {"activeDeadlineSeconds", std::max<int64_t>(deadline, 1)},
                          {"ttlSecondsAfterFinished", kept_seconds},
                          {"template", JsonObject{{"metadata", JsonObject{{"labels", labels}}},
                                                  {"spec", std::move(pod)}}}}}};
}

// "Pending: ErrImagePull: …", for the waiting user.
std::string state_of_pod(const Json& pod) {
  std::string text(text_at(pod, "status", "phase"));
  const Json* statuses = find(pod, "status", "containerStatuses");
  if (statuses == nullptr || !statuses->is_array()) return text;
  for (const Json& status : statuses->get_array()) {
    const Json* waiting = find(status, "state", "waiting");
    if (waiting == nullptr) continue;
    text += fmt::format(": {} {}", text_at(*waiting, "reason"), text_at(*waiting, "message"));
  }
  return text;
}

struct Waited {
  std::optional<rollout::GateEnd> end;
  std::string state = "no pod yet";
};

Result<Waited> wait_for_pod(ClusterSession& session, kube::SyncApi& api, const GateFlags& flags,
                            const std::string& job, Duration limit) {
  constexpr Duration pause = milliseconds(500);
  Waited waited;
  const Duration began = session.loop.uptime();
  while (true) {
    kube::Request request = kube::list(resource::pods, flags.ns);
    request.with("labelSelector", "job-name=" + job);
    LOCKSTEP_TRY(auto pods, api.list(std::move(request)));
    for (const Document& pod : pods.items) {
      waited.state = state_of_pod(*pod);
      waited.end = rollout::gate_end_of(*pod);
    }
    if (waited.end || session.loop.uptime() - began >= limit) return waited;
    session.loop.run_until([] { return false; }, pause);
  }
}

}  // namespace

int run_gate_on_node(const GateFlags& flags) {
  if (auto fine = check_flags(flags); !fine) return report(fine.error());
  auto limit = parse_duration(flags.node_timeout);
  if (!limit || *limit < seconds(1)) {
    return report(Error{ErrorKind::invalid, "must be a duration such as 5m", "--node-timeout"});
  }
  auto session = ClusterSession::open(flags.cluster);
  if (!session) return report(session.error());
  kube::SyncApi api(*(*session)->api, (*session)->loop);
  if (auto node = api.get(resource::nodes, {"", flags.node}); !node) {
    return report(node.error().at("--node " + flags.node));
  }
  const std::string name = fmt::format("lockstep-gate-{}", (*session)->random.uuid());
  const Time started = system_time();
  auto made = api.create(resource::jobs, flags.ns,
                         job_object(flags, name, image_of_gates(api, flags), *limit));
  if (!made) return report(made.error().at("the gate's Job"));
  fmt::print(stderr, "Job {}/{} runs the gate on {}; it is kept for an hour\n", flags.ns, name,
             flags.node);
  auto waited = wait_for_pod(**session, api, flags, name, *limit);
  if (!waited) return report(waited.error());
  if (!waited->end) {
    return report(Error{ErrorKind::timed_out,
                        fmt::format("the gate did not finish within {}: {}",
                                    format_duration(*limit), waited->state),
                        fmt::format("Job {}/{}", flags.ns, name)});
  }
  auto outcome = gpu::read_summary(waited->end->message);
  if (!outcome) {
    // Killed before it could leave its result, or another program.
    rollout::GateWord word = rollout::word_of(*waited->end);
    bool passed = waited->end->exit_code == 0;
    print_text(fmt::format("{} on {}: {}\n", passed ? "Passed" : to_string(word.outcome),
                           flags.node, word.text));
    return static_cast<int>(waited->end->exit_code);
  }
  print_gate_outcome(flags, *outcome, started);
  return static_cast<int>(waited->end->exit_code);
}

}  // namespace lockstep::cli

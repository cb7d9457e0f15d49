#include "controller/gate_jobs.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/sha256.h"
#include "base/strings.h"
#include "kube/typed.h"
#include "rollout/job_gate.h"
#include "rollout/rollout_progress.h"
#include "upgrade/pod_names.h"

namespace lockstep::controller {

namespace {

using rollout::Outcome;

constexpr int64_t gate_seconds = 1800;
constexpr int64_t baseline_seconds = 300;
// The ends of a Job and its pod arrive one after the other; after this long the pod is gone.
constexpr Duration pods_come_late = minutes(5);
constexpr int64_t keep_seconds = 7 * 24 * 3600;

kube::ReflectorOptions watch_of_gates(const ResourceType& type, const std::string& ns) {
  kube::ReflectorOptions options = kube::watch_of(type, ns);
  options.query.emplace_back("labelSelector", std::string(gate_label));
  return options;
}

// Of all nodes together: a failed one decides, then an inconclusive one, then one that runs.
struct Sum {
  std::map<Outcome, std::vector<std::string>> nodes;
  std::map<Outcome, std::string> text;  // of the first

  rollout::Verdict verdict(const rollout::GateSpec& gate) const {
    rollout::Verdict verdict{gate.name, Outcome::passed, "", gate.dry_run};
    for (Outcome outcome : {Outcome::failed, Outcome::inconclusive, Outcome::running}) {
      auto at = nodes.find(outcome);
      if (at == nodes.end()) continue;
      verdict.outcome = outcome;
      auto first = text.find(outcome);
      verdict.text = fmt::format("{}{}{}", rollout::upgrade_names(at->second),
                                 first == text.end() || first->second.empty() ? "" : ": ",
                                 first == text.end() ? "" : first->second);
      return verdict;
    }
    auto passed = nodes.find(Outcome::passed);
    if (passed == nodes.end()) {
      verdict.outcome = Outcome::inconclusive;
      verdict.text = "no node of the wave runs the new driver";
      return verdict;
    }
    verdict.text = upgrade::counted(passed->second.size(), "node");
    return verdict;
  }
};

// A container that says nothing of its end leaves the end of its log.
void keep_last_words(JsonObject& pod) {
  Json* containers = pod.if_contains("containers");
  if (containers == nullptr || !containers->is_array()) return;
  for (Json& container : containers->as_array()) {
    if (!container.is_object() || find(container, "terminationMessagePolicy") != nullptr) continue;
    container.as_object()["terminationMessagePolicy"] = "FallbackToLogsOnError";
  }
}

// Where it is to run, whatever keeps other pods away from there.
void place_pod(JsonObject& pod, const std::string& node) {
  pod["nodeName"] = node;
  pod["restartPolicy"] = "Never";
  pod["tolerations"] = JsonArray{JsonObject{{"operator", "Exists"}}};
}

}  // namespace

JsonObject gate_pod(const std::string& image, const std::string& node,
                    const std::vector<std::string>& words) {
  JsonArray args{"gate"};
  for (const std::string& word : words) args.emplace_back(word);
  args.emplace_back("--termination-message");
  args.emplace_back("/dev/termination-log");
  // By the runtime, not by the device plugin: all of the node's GPUs.
  JsonObject container{
      {"name", "gate"},
      {"image", image},
      {"args", std::move(args)},
      {"env", JsonArray{JsonObject{{"name", "NVIDIA_VISIBLE_DEVICES"}, {"value", "all"}},
                        JsonObject{{"name", "NVIDIA_DRIVER_CAPABILITIES"}, {"value", "all"}}}},
      {"securityContext", JsonObject{{"privileged", true}}}};
  JsonObject pod{{"runtimeClassName", "nvidia"}, {"containers", JsonArray{std::move(container)}}};
  rollout::confine_pod(pod);
  place_pod(pod, node);
  return pod;
}

bool runs_on_nodes(const rollout::GateSpec& gate) {
  return gate.kind == rollout::GateKind::built_in || gate.kind == rollout::GateKind::job;
}

std::string GateRun::id() const {
  return fmt::format("{}{}\n{}\n{}", is_baseline ? "baseline of " : "", revision,
                     started.is_set() ? format_rfc3339(started) : "", round);
}

GateJobs::GateJobs(kube::Api& api, Loop& loop, Random& random, Log& log, view::FleetWatch& watch,
                   GateJobsOptions options)
    : api_(api),
      loop_(loop),
      options_(std::move(options)),
      jobs_(api, loop, random, log, watch.context(), watch_of_gates(resource::jobs, options_.ns)),
      pods_(api, loop, random, log, watch.context(), watch_of_gates(resource::pods, options_.ns)) {
  jobs_.cache.on_change([this](const auto&) {
    if (listener_) listener_();
  });
  pods_.cache.on_change([this](const kube::Cache<GenericObject>::Change& change) {
    note_pod(change.object(), change.after != nullptr);
    if (listener_) listener_();
  });
}

void GateJobs::start() {
  jobs_.reflector.start();
  pods_.reflector.start();
}

void GateJobs::note_pod(const GenericObject& pod, bool is_there) {
  const OwnerReference* owner = pod.meta.controller();
  if (owner == nullptr) return;
  if (is_there) {
    ends_[owner->uid.str()] = rollout::gate_end_of(*pod.document);
  } else {
    ends_.erase(owner->uid.str());
  }
}

std::string GateJobs::job_name(const GateRun& run, const std::string& gate, const std::string& node,
                               int attempt) const {
  constexpr size_t length = 16;
  std::string text =
      fmt::format("{}\n{}\n{}\n{}\n{}\n{}", run.rollout, run.wave, run.id(), gate, node, attempt);
  return "lockstep-gate-" + sha256_hex(text).substr(0, length);
}

Json GateJobs::job_object(const GateRun& run, const rollout::GateSpec& gate,
                          const std::string& node, int attempt) const {
  JsonObject labels{{"app.kubernetes.io/managed-by", "lockstep"},
                    {fleet::rollout_label, run.rollout},
                    {gate_label, gate.name}};
  JsonObject pod = gate.kind == rollout::GateKind::job
                       ? rollout::job_gate_pod(gate.details)
                       : gate_pod(options_.image, node, {gate.name});
  keep_last_words(pod);
  place_pod(pod, node);
  return JsonObject{
      {"apiVersion", "batch/v1"},
      {"kind", "Job"},
      {"metadata", JsonObject{{"name", job_name(run, gate.name, node, attempt)},
                              {"namespace", options_.ns},
                              {"labels", labels},
                              {"annotations", JsonObject{{"lockstep.dev/node", node}}}}},
      {"spec",
       JsonObject{{"backoffLimit", 0},
                  {"activeDeadlineSeconds", run.is_baseline ? baseline_seconds : gate_seconds},
                  {"ttlSecondsAfterFinished", keep_seconds},
                  {"template", JsonObject{{"metadata", JsonObject{{"labels", labels}}},
                                          {"spec", std::move(pod)}}}}}};
}

std::string GateJobs::refusal_of(const rollout::GateSpec& gate) const {
  if (gate.kind != rollout::GateKind::job) return {};
  if (!options_.allows_job_gates) {
    return fmt::format("gate {}: {}", gate.name, view::job_gates_are_off);
  }
  // The spec was checked when it was read; what runs on GPU nodes is checked here, too.
  Reading reading(fmt::format("gate {}: job", gate.name));
  reading.map(gate.details, rollout::check_job_gate);
  return join(reading.texts(), "; ");
}

GateJobs::NodeVerdict GateJobs::read_failure(const Job& job) const {
  NodeVerdict verdict;
  auto at = ends_.find(job.meta.uid.str());
  if (at == ends_.end()) {
    verdict.outcome = Outcome::error;
    verdict.text = "its pod left no exit code";
  } else if (!at->second) {
    // The Job's end arrived before its pod's.
    verdict.outcome = Outcome::running;
  } else {
    rollout::GateWord word = rollout::word_of(*at->second);
    verdict.outcome = word.outcome;
    verdict.text = word.text;
    verdict.end = at->second;
  }
  return verdict;
}

std::optional<rollout::GateEnd> GateJobs::end_of(const Job& job) const {
  auto at = ends_.find(job.meta.uid.str());
  if (at != ends_.end() && at->second) return at->second;
  bool is_late = loop_.now() - job.completed > pods_come_late;
  return is_late ? std::optional<rollout::GateEnd>(rollout::GateEnd{}) : std::nullopt;
}

GateJobs::NodeVerdict GateJobs::verdict_of(const GateRun& run, const rollout::GateSpec& gate,
                                           const std::string& node) const {
  NodeVerdict verdict = own_verdict(run, gate, node);
  if (run.is_baseline || !rollout::is_compared(gate) || !run.compared.contains(node)) {
    return verdict;
  }
  if (verdict.outcome == Outcome::running) return verdict;
  if (!verdict.end) {
    if (verdict.outcome == Outcome::passed) verdict.outcome = Outcome::running;
    return verdict;
  }
  rollout::GateWord word =
      rollout::compare(gate.name, node, run.before.get(), *verdict.end,
                       {verdict.outcome, verdict.text}, run.in_use.contains(node));
  verdict.outcome = word.outcome;
  verdict.text = word.text;
  return verdict;
}

GateJobs::NodeVerdict GateJobs::own_verdict(const GateRun& run, const rollout::GateSpec& gate,
                                            const std::string& node) const {
  NodeVerdict verdict;
  const int tries = run.is_baseline ? 1 : options_.tries;
  for (int attempt = 0; attempt < tries; ++attempt) {
    auto job = jobs_.cache.find(ObjectKey{options_.ns, job_name(run, gate.name, node, attempt)});
    if (!job) {
      // The try before ended with an error of its own.
      verdict.again = attempt > 0;
      verdict.outcome = Outcome::running;
      return verdict;
    }
    verdict.started = true;
    verdict.tries = attempt + 1;
    if (job->is_complete()) {
      verdict.outcome = Outcome::passed;
      verdict.end = end_of(*job);
      return verdict;
    }
    if (!job->has_failed() && job->failed == 0) {
      verdict.outcome = Outcome::running;
      return verdict;
    }
    NodeVerdict failure = read_failure(*job);
    verdict.text = failure.text;
    // Its own error is retried; every other outcome is final.
    if (failure.outcome != Outcome::error) {
      verdict.outcome = failure.outcome;
      verdict.end = failure.end;
      return verdict;
    }
  }
  verdict.outcome = Outcome::inconclusive;
  if (tries > 1) verdict.text = fmt::format("{} in {} tries", verdict.text, tries);
  return verdict;
}

std::vector<rollout::Verdict> GateJobs::verdicts(const GateRun& run) const {
  std::vector<rollout::Verdict> verdicts;
  for (const rollout::GateSpec& gate : run.gates) {
    if (!runs_on_nodes(gate)) continue;
    Sum sum;
    bool complete = true;
    for (const std::string& node : run.nodes) {
      NodeVerdict verdict = verdict_of(run, gate, node);
      complete = complete && verdict.started && !verdict.again;
      sum.nodes[verdict.outcome].push_back(node);
      sum.text.try_emplace(verdict.outcome, verdict.text);
    }
    if (complete) verdicts.push_back(sum.verdict(gate));
  }
  return verdicts;
}

void GateJobs::begin(const GateRun& run, std::function<void(const std::string&)> done) {
  auto left = std::make_shared<size_t>(1);
  auto refusal = std::make_shared<std::string>();
  auto answered = [left, refusal, done = std::move(done)] {
    if (--*left == 0) done(*refusal);
  };
  for (const rollout::GateSpec& gate : run.gates) {
    if (!runs_on_nodes(gate)) continue;
    if (std::string why = refusal_of(gate); !why.empty()) {
      *refusal = std::move(why);
      continue;
    }
    for (const std::string& node : run.nodes) {
      NodeVerdict verdict = verdict_of(run, gate, node);
      if (verdict.started && !verdict.again) continue;
      ++*left;
      Json job = job_object(run, gate, node, verdict.tries);
      ObjectKey key{options_.ns, std::string(text_at(job, "metadata", "name"))};
      api_.call(kube::create(resource::jobs, options_.ns, std::move(job)),
                scope_.bind([this, key, refusal, answered](kube::Reply reply) {
                  // One that is there already was made by us: the watch is behind.
                  if (reply && reply->ok()) {
                    jobs_.cache.expect(key, kube::peek_body_version(reply->body));
                  } else if (!reply || reply->code != 409) {
                    *refusal = (reply ? reply->error() : reply.error()).text();
                  }
                  answered();
                }));
    }
  }
  answered();
}

std::optional<GateJobs::Measured> GateJobs::measured(const GateRun& run) const {
  Measured all;
  for (const rollout::GateSpec& gate : run.gates) {
    for (const std::string& node : run.nodes) {
      NodeVerdict verdict = own_verdict(run, gate, node);
      bool is_over = verdict.started && verdict.outcome != Outcome::running;
      if (!is_over || (verdict.outcome == Outcome::passed && !verdict.end)) return std::nullopt;
      rollout::GateNumbers& numbers = all[node][gate.name];
      if (verdict.end) numbers = rollout::numbers_of(*verdict.end);
      if (!numbers.empty()) continue;
      numbers =
          rollout::no_numbers(verdict.text.empty() ? "the gate measured nothing" : verdict.text);
    }
  }
  return all;
}

std::vector<rollout::SpeedPair> GateJobs::speed_pairs(const GateRun& run) const {
  std::vector<rollout::SpeedPair> all;
  if (!run.before) return all;
  for (const rollout::GateSpec& gate : run.gates) {
    if (!rollout::is_compared(gate)) continue;
    for (const std::string& node : run.nodes) {
      NodeVerdict verdict = own_verdict(run, gate, node);
      if (!verdict.end) continue;
      for (rollout::SpeedPair& pair :
           rollout::speed_pairs(gate.name, node, *run.before, rollout::numbers_of(*verdict.end),
                                run.in_use.contains(node))) {
        all.push_back(std::move(pair));
      }
    }
  }
  return all;
}

}  // namespace lockstep::controller

// The claims of pods on their node: claim_book.h says what a kubelet does about them; here are the
// cluster's objects, and the plugin that runs on the machine.
#include <algorithm>

#include <fmt/format.h>

#include "objects/decode.h"
#include "sim/actors/kubelets.h"

namespace lockstep::sim {

namespace {

constexpr std::string_view prepare_failed = "FailedPrepareDynamicResources";

std::string event_text(std::string_view error) {
  return fmt::format("Failed to prepare dynamic resources: {}", error);
}

ObjectReference reference_to(const PodRun& run) {
  ObjectReference about;
  about.api_version = "v1";
  about.kind = "Pod";
  about.ns = run.key.ns;
  about.name = run.key.name;
  about.uid = run.pod.meta.uid;
  return about;
}

}  // namespace

void Kubelets::prepare(NodeState& node, const Run& run) {
  if (run->has_claims && !prepare_claims(node, run)) return;
  if (run->init_containers.empty()) return enter_again(run, Step::pull);
  go_to(run, Step::init_run, draw(node, options_.latencies.init_container));
}

// None while one is missing, has no devices yet or is not this pod's: its change brings the pod
// back.
std::optional<std::vector<Kubelets::Claim>> Kubelets::find_claims(const PodRun& run) {
  Object pod = view_.pods().find(run.key);
  if (!pod) return std::nullopt;
  std::vector<std::string> names = claims_named_by(*pod->document);
  if (names.size() < claims_wanted_by(pod->document->at("spec"))) return std::nullopt;
  std::vector<Claim> claims;
  for (const std::string& name : names) {
    Object object = view_.of(resource::resource_claims).find({run.key.ns, name});
    if (!object) return std::nullopt;
    auto claim = decode_object<ResourceClaim>(*object->document, context_);
    if (!claim || !claim->allocated || !claim->is_reserved_for(run.uid())) return std::nullopt;
    claims.push_back({std::move(*claim), object});
  }
  return claims;
}

bool Kubelets::prepare_claims(NodeState& node, const Run& run) {
  auto claims = find_claims(*run);
  if (!claims) return false;
  ClaimRefs wanted;
  for (const auto& [claim, object] : *claims) {
    wanted.push_back({claim.meta.uid.str(), claim.meta.name.str()});
  }
  const NvmlHandle* plugin = plugin_of(node);
  bool is_registered = plugin != nullptr ||
                       std::none_of(claims->begin(), claims->end(),
                                    [](const Claim& claim) { return needs_plugin(claim.value); });
  ClaimRefs asked = wanted;
  Result<PrepareAnswers> answers = PrepareAnswers{};
  if (is_registered) {
    asked = node.claims.begin(std::string(run->uid()), wanted);
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (std::find(asked.begin(), asked.end(), wanted[i]) == asked.end()) continue;
      const Claim& claim = (*claims)[i];
      (*answers)[wanted[i].uid] =
          prepare_claim(node.machine, plugin, claim.value, *claim.object->document);
    }
  } else {
    answers = failf(ErrorKind::not_found,
                    "prepare dynamic resources: DRA driver {} is not registered", dra_driver_name);
  }
  PrepareVerdict verdict = node.claims.take(asked, answers);
  for (const ClaimRef& claim : asked) {
    std::string error;
    if (!answers) {
      error = event_text(answers.error().message);
    } else if (const std::string& why = answers->at(claim.uid).error; !why.empty()) {
      error = event_text(prepare_error_text(claim.name, why));
    }
    preparations_.add({run->node(), run->key, claim.name, parts_.loop.now(), std::move(error)});
  }
  if (verdict.pod == PrepareVerdict::Pod::runs) return true;
  const std::string text = event_text(verdict.message);
  events_.record(reference_to(*run), kube::EventType::warning, prepare_failed, text);
  if (verdict.pod == PrepareVerdict::Pod::waits) {
    go_to(run, Step::prepare, draw(node, options_.latencies.prepare_retry));
  } else {
    fail_pod(node, run, text);
  }
  return false;
}

// Before any of its containers has begun.
void Kubelets::fail_pod(NodeState& node, const Run& run, const std::string& why) {
  run->phase = PodPhase::failed;
  run->phase_reason = prepare_failed;
  run->phase_message = why;
  run->step = Step::finished;
  publish(run);
  end_claims(node, run);
}

// The simulated plugins always can: it needs no driver, and on a machine without a plugin it is as
// if one came at once.
void Kubelets::end_claims(NodeState& node, const Run& run) {
  ClaimRefs asked = node.claims.end(std::string(run->uid()));
  UnprepareAnswers answers;
  for (const ClaimRef& claim : asked) answers[claim.uid];
  if (auto ended = node.claims.take_end(asked, answers); !ended) {
    parts_.log.warning("cannot unprepare claims",
                       {{"pod", run->key.text()}, {"error", ended.error().text()}});
  }
}

}  // namespace lockstep::sim

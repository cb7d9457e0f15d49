#include "controller/gate_questions.h"

#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "kube/typed.h"

namespace lockstep::controller {

namespace {

using rollout::AskedGate;
using rollout::GateRecord;
using rollout::GateSpec;

AskedGate asked(const GateSpec& gate) {
  // What is wrong with it was said when the spec was read: then nothing begins.
  return read_again(gate.details, [&](StrictReader& details) {
    return rollout::read_asked_gate(gate.kind, details);
  });
}

const GateRecord* find_record(const std::map<std::string, GateRecord>& records,
                              const std::string& gate) {
  auto at = records.find(gate);
  return at == records.end() ? nullptr : &at->second;
}

}  // namespace

std::string answers_name(const std::string& rollout, size_t wave) {
  return fmt::format("lockstep-gates-{}-{}", rollout, wave);
}

std::map<std::string, GateRecord> GateQuestions::records_of(const GateRun& run) const {
  std::map<std::string, GateRecord> records;
  auto map = watch_.rollouts().record(answers_name(run.rollout, run.wave));
  if (!map) return records;
  for (const GateSpec& gate : run.gates) {
    if (runs_on_nodes(gate)) continue;
    auto record = GateRecord::parse(map->data.get(gate.name));
    // Of another version, or of an earlier try.
    if (record && record->run == run.id()) records.emplace(gate.name, std::move(*record));
  }
  return records;
}

std::vector<rollout::Verdict> GateQuestions::verdicts(const GateRun& run) const {
  std::vector<rollout::Verdict> verdicts;
  auto records = records_of(run);
  for (const GateSpec& gate : run.gates) {
    if (runs_on_nodes(gate)) continue;
    rollout::Verdict verdict{gate.name, rollout::Outcome::running, "", gate.dry_run};
    if (asker_ == nullptr) {
      verdict.outcome = rollout::Outcome::inconclusive;
      verdict.text = "this controller cannot ask gates of this kind";
    } else if (const GateRecord* record = find_record(records, gate.name)) {
      verdict.outcome = record->outcome;
      verdict.text = record->text;
    } else {
      verdict.text = "queried, no answer yet";
    }
    verdicts.push_back(std::move(verdict));
  }
  return verdicts;
}

std::optional<Duration> GateQuestions::due_in(const GateRun& run) const {
  if (asker_ == nullptr) return std::nullopt;
  auto records = records_of(run);
  std::optional<Duration> soonest;
  for (const GateSpec& gate : run.gates) {
    if (runs_on_nodes(gate)) continue;
    auto next = rollout::next_question(asked(gate), find_record(records, gate.name), loop_.now());
    if (next) soonest = std::min(*next, soonest.value_or(*next));
  }
  return soonest;
}

void GateQuestions::ask(const GateRun& run, std::function<void(kube::Reply)> done) {
  auto records = std::make_shared<std::map<std::string, GateRecord>>(records_of(run));
  auto left = std::make_shared<size_t>(1);
  auto answered = [this, run, records, left, done = std::move(done)] {
    if (--*left == 0) write(run, *records, done);
  };
  for (const GateSpec& spec : run.gates) {
    if (runs_on_nodes(spec)) continue;
    AskedGate gate = asked(spec);
    auto next = rollout::next_question(gate, find_record(*records, spec.name), loop_.now());
    if (!next || *next > Duration(0)) continue;
    ++*left;
    rollout::AskedAbout about{run.rollout, run.wave_name, spec.name, run.version, run.nodes};
    asker_->ask(rollout::question_of(gate, about),
                scope_.bind([this, gate, records, answered, name = spec.name,
                             id = run.id()](Result<GateAnswer> answer) {
                  GateRecord& record = (*records)[name];
                  record.run = id;
                  rollout::Measurement measured =
                      answer ? rollout::read_answer(gate, answer->code, answer->body)
                             : rollout::Measurement{rollout::Outcome::error, answer.error().text()};
                  rollout::take_answer(gate, measured, loop_.now(), record);
                  answered();
                }));
  }
  answered();
}

void GateQuestions::write(const GateRun& run, const std::map<std::string, GateRecord>& records,
                          std::function<void(kube::Reply)> done) {
  const ObjectKey key = watch_.rollouts().record_key(answers_name(run.rollout, run.wave));
  auto held = watch_.rollouts().record(key.name);
  JsonObject metadata{{"name", key.name},
                      {"namespace", key.ns},
                      {"labels", JsonObject{{"app.kubernetes.io/managed-by", "lockstep"},
                                            {fleet::rollout_label, run.rollout}}}};
  if (held) metadata["resourceVersion"] = held->meta.resource_version.str();
  JsonObject data;
  for (const auto& [gate, record] : records) data[gate] = print_json(record.to_json());
  Json body = JsonObject{{"apiVersion", "v1"},
                         {"kind", "ConfigMap"},
                         {"metadata", std::move(metadata)},
                         {"data", std::move(data)}};
  kube::Request request = held ? kube::update(resource::config_maps, key, std::move(body))
                               : kube::create(resource::config_maps, key.ns, std::move(body));
  api_.call(std::move(request), scope_.bind([this, key, done = std::move(done)](kube::Reply reply) {
    if (reply && reply->ok()) {
      watch_.rollouts().expect_record(key.name, kube::peek_body_version(reply->body));
    }
    done(std::move(reply));
  }));
}

}  // namespace lockstep::controller

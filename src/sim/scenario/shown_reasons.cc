#include "sim/scenario/shown_reasons.h"

#include <algorithm>
#include <utility>

namespace lockstep::sim {

namespace {

bool same_answers(const Answers& one, const Answers& other) {
  return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                    [](const auto& a, const auto& b) {
                      return a.first == b.first && a.second.name == b.second.name &&
                             a.second.remedy == b.second.remedy;
                    });
}

}  // namespace

Answers ShownReasons::now() const {
  return controllers_.empty() ? Answers() : answers_of(controllers_.watch(), clock_.now());
}

void ShownReasons::check(Witness& witness, const std::function<void(Duration)>& wait) {
  Answers answers = now();
  witness.check_reasons(answers);
  // An observer lists the whole cluster: it is asked once for each answer that the controller
  // gives.
  const bool is_new = !same_answers(answers, compared_);
  compared_ = std::move(answers);
  if (is_new) compare(witness, wait);
}

// Several controllers that believe to lead have different views, and beside NVIDIA's controller
// there is nothing to publish.
void ShownReasons::compare(Witness& witness, const std::function<void(Duration)>& wait) {
  if (scenario_.controllers != 1 || scenario_.conduct || controllers_.empty()) return;
  Answers said = that_differ();
  if (said.empty()) return;
  // It publishes in a moment what it has just learnt. Every source must agree on what it says all
  // that time.
  wait(seconds(5));
  if (controllers_.empty()) return;
  auto seen = ask();
  const Answers later = now();
  std::erase_if(said, [&](const auto& answer) {
    auto at = later.find(answer.first);
    return at == later.end() || at->second.name != answer.second.name;
  });
  if (seen) witness.compare_answers(said, *seen);
}

std::optional<Answers> ShownReasons::ask() {
  return ask_observer(observer_, cluster_.loop, clock_, random_, controllers_.fleet_options());
}

// Of nodes of which an observer says something else: what the controller says.
Answers ShownReasons::that_differ() {
  auto seen = ask();
  Answers said = now();
  if (!seen) return {};
  std::erase_if(said, [&](const auto& answer) {
    auto at = seen->find(answer.first);
    return at != seen->end() && at->second.name == answer.second.name &&
           at->second.remedy == answer.second.remedy;
  });
  return said;
}

}  // namespace lockstep::sim

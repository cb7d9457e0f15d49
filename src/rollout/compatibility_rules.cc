#include "rollout/compatibility_rules.h"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "base/strings.h"
#include "data/json.h"
#include "data/yaml.h"

namespace lockstep::rollout {

namespace {

// One entry of a list. The first thing that is wrong is kept.
class Entry {
 public:
  Entry(const Json& json, std::string place, const Compatibility& known)
      : json_(json), place_(std::move(place)), known_(known) {
    if (!json.is_object()) keep("is no map");
  }

  const Json* take(std::string_view key) {
    taken_.emplace_back(key);
    return json_.is_object() ? find(json_, key) : nullptr;
  }

  std::string text(std::string_view key, bool required = true) {
    const Json* value = take(key);
    if (value == nullptr && !required) return {};
    const std::string text(as_text(value));
    if (text.empty()) keep(fmt::format("needs a text \"{}\" (versions in quotes)", key));
    return text;
  }

  Bound bound(std::string_view key) { return bound_of(text(key), key); }

  std::optional<Bound> optional_bound(std::string_view key) {
    std::string found = text(key, false);
    if (found.empty()) return std::nullopt;
    return bound_of(std::move(found), key);
  }

  std::vector<std::string> texts(std::string_view key) {
    std::vector<std::string> found;
    const Json* list = take(key);
    if (list == nullptr) return found;
    if (!list->is_array()) keep(fmt::format("\"{}\" must be a list", key));
    if (!list->is_array()) return found;
    for (const Json& item : list->get_array()) {
      found.emplace_back(as_text(&item));
      if (found.back().empty()) keep(fmt::format("\"{}\" must be a list of texts", key));
    }
    return found;
  }

  Bound bound_of(std::string text, std::string_view key) {
    auto version = parse_version(text);
    if (!version) keep(fmt::format("\"{}\" of {} is no version", text, key));
    return {std::move(text), version.value_or(Version{})};
  }

  void within(std::string_view key, const std::function<void(Entry&)>& read) {
    const Json* value = take(key);
    if (value == nullptr) return;
    Entry inner(*value, fmt::format("{}.{}", place_, key), known_);
    read(inner);
    if (auto done = inner.done(); !done && !error_) error_ = done.error();
  }

  std::string source() {
    std::string name = text("source");
    if (!name.empty() && !known_.sources.contains(name)) {
      keep(fmt::format("the source \"{}\" is not under sources", name));
    }
    return name;
  }

  void keep(std::string what) {
    if (!error_) error_ = Error{ErrorKind::invalid, std::move(what), place_};
  }

  // A misspelt key before all else: what it leaves unsaid is only its consequence.
  Result<void> done() {
    if (json_.is_object()) LOCKSTEP_CHECK(check_keys());
    if (error_) return fail(*error_);
    return {};
  }

 private:
  Result<void> check_keys() const {
    for (const auto& member : json_.get_object()) {
      const std::string key(member.key());
      if (std::find(taken_.begin(), taken_.end(), key) != taken_.end()) continue;
      const auto near = nearest(key, taken_);
      return fail(ErrorKind::invalid,
                  fmt::format("the key \"{}\" is not known{}", key,
                              near ? fmt::format("; did you mean \"{}\"?", *near) : ""),
                  place_);
    }
    return {};
  }

  const Json& json_;
  std::string place_;
  const Compatibility& known_;
  std::vector<std::string> taken_;
  std::optional<Error> error_;
};

Result<void> each(const Json& file, std::string_view key, std::string_view name,
                  const Compatibility& known, const std::function<void(Entry&)>& read) {
  const Json* list = find(file, key);
  if (list == nullptr || !list->is_array() || list->get_array().empty()) {
    return fail(ErrorKind::invalid, fmt::format("it needs a list \"{}\"", key), std::string(name));
  }
  size_t number = 0;
  for (const Json& item : list->get_array()) {
    Entry entry(item, fmt::format("{}: {}[{}]", name, key, number++), known);
    read(entry);
    LOCKSTEP_CHECK(entry.done());
  }
  return {};
}

CudaRule read_cuda(Entry& entry) {
  return {entry.bound("cuda"), entry.bound("driver"), entry.source()};
}

OperatorRule read_operator(Entry& entry) {
  OperatorRule rule;
  rule.release = entry.bound("operator");
  auto range = [&](std::string_view key, Bound& from, Bound& to) {
    entry.within(key, [&](Entry& inner) {
      from = inner.bound("from");
      to = inner.bound("to");
    });
    if (from.text.empty()) entry.keep(fmt::format("needs \"{}\" with from and to", key));
  };
  range("kubernetes", rule.kubernetes_from, rule.kubernetes_to);
  range("openshift", rule.openshift_from, rule.openshift_to);
  rule.source = entry.source();
  return rule;
}

DriverRule read_driver(Entry& entry) {
  DriverRule rule;
  rule.name = entry.text("name");
  rule.models = entry.texts("models");
  if (const Json* mig = entry.take("withMigOnly")) rule.with_mig_only = as_bool(mig);
  rule.at_least = entry.optional_bound("atLeast");
  rule.below = entry.optional_bound("below");
  for (std::string& text : entry.texts("notVersions")) {
    rule.not_versions.push_back(entry.bound_of(std::move(text), "notVersions"));
  }
  entry.within("notBetween", [&](Entry& hole) {
    rule.hole_from = hole.bound("from");
    rule.hole_before = hole.bound("before");
  });
  rule.reason = entry.text("reason");
  rule.source = entry.source();
  if (!rule.at_least && !rule.below && rule.not_versions.empty() && !rule.hole_from) {
    entry.keep("demands nothing: it needs atLeast, below, notVersions or notBetween");
  }
  return rule;
}

}  // namespace

Result<Compatibility> read_compatibility(std::string_view text, std::string_view name) {
  LOCKSTEP_TRY(const Json file, parse_yaml(text, name));
  Compatibility rules;
  const Json* sources = file.is_object() ? find(file, "sources") : nullptr;
  if (sources == nullptr || !sources->is_object()) {
    return fail(ErrorKind::invalid, "it needs a map \"sources\"", std::string(name));
  }
  for (const auto& member : sources->get_object()) {
    rules.sources.emplace(member.key(), as_text(&member.value()));
  }
  for (const auto& member : file.get_object()) {
    static const std::vector<std::string> known = {"sources", "cudaToolkits", "cudaMajors",
                                                   "operators", "drivers"};
    const std::string key(member.key());
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    return fail(ErrorKind::invalid, fmt::format("the key \"{}\" is not known", key),
                std::string(name));
  }
  LOCKSTEP_CHECK(each(file, "cudaToolkits", name, rules,
                      [&](Entry& entry) { rules.toolkits.push_back(read_cuda(entry)); }));
  LOCKSTEP_CHECK(each(file, "cudaMajors", name, rules,
                      [&](Entry& entry) { rules.majors.push_back(read_cuda(entry)); }));
  LOCKSTEP_CHECK(each(file, "operators", name, rules,
                      [&](Entry& entry) { rules.operators.push_back(read_operator(entry)); }));
  LOCKSTEP_CHECK(each(file, "drivers", name, rules,
                      [&](Entry& entry) { rules.drivers.push_back(read_driver(entry)); }));
  return rules;
}

}  // namespace lockstep::rollout

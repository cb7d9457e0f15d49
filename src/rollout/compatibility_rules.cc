#include "rollout/compatibility_rules.h"

#include "base/strings.h"
#include "data/strict_reader.h"

namespace lockstep::rollout {

namespace {

Result<Bound> read_bound(const Json& json) {
  LOCKSTEP_TRY(std::string text, strict::text(json));
  auto version = parse_version(text);
  if (!version) return fail(strict::not_one("a version such as 580.65.06", json));
  return Bound{std::move(text), *version};
}

// One rule; what all of them have.
class RuleReader {
 public:
  RuleReader(StrictReader& reader, const Compatibility& known) : reader_(reader), known_(known) {}

  template <typename Into>
  void bound(std::string_view key, Into& into) {
    reader_.read(key, into, read_bound);
  }

  template <typename Into>
  void bounds(std::string_view key, std::string_view from_key, Into& from, std::string_view to_key,
              Into& to) {
    reader_.within(key, [&](StrictReader& range) {
      range.read(from_key, from, read_bound).required(from_key);
      range.read(to_key, to, read_bound).required(to_key);
    });
  }

  void source(std::string& into) {
    reader_.text("source", into).required("source");
    if (into.empty() || known_.sources.empty() || known_.sources.contains(into)) return;
    std::vector<std::string> names;
    for (const auto& [name, address] : known_.sources) names.push_back(name);
    reader_.refuse("source", unknown_word("source", into, names));
  }

 private:
  StrictReader& reader_;
  const Compatibility& known_;
};

void read_cuda(StrictReader& reader, const Compatibility& known, CudaRule& rule) {
  RuleReader parts(reader, known);
  parts.bound("cuda", rule.cuda);
  parts.bound("driver", rule.driver);
  parts.source(rule.source);
  reader.required("cuda").required("driver");
}

void read_operator(StrictReader& reader, const Compatibility& known, OperatorRule& rule) {
  RuleReader parts(reader, known);
  parts.bound("operator", rule.release);
  parts.bounds("kubernetes", "from", rule.kubernetes_from, "to", rule.kubernetes_to);
  parts.bounds("openshift", "from", rule.openshift_from, "to", rule.openshift_to);
  parts.source(rule.source);
  reader.required("operator").required("kubernetes").required("openshift");
}

void read_driver(StrictReader& reader, const Compatibility& known, DriverRule& rule) {
  RuleReader parts(reader, known);
  reader.text("name", rule.name).required("name").texts("models", rule.models);
  reader.flag("withMigOnly", rule.with_mig_only);
  parts.bound("atLeast", rule.at_least);
  parts.bound("below", rule.below);
  reader.items("notVersions", [&](StrictReader& version) {
    version.read(rule.not_versions.emplace_back(), read_bound);
  });
  parts.bounds("notBetween", "from", rule.hole_from, "before", rule.hole_before);
  reader.text("reason", rule.reason).required("reason");
  parts.source(rule.source);
  if (!rule.at_least && !rule.below && rule.not_versions.empty() && !rule.hole_from &&
      !reader.has_unknown()) {
    reader.refuse("needs atLeast, below, notVersions or notBetween");
  }
}

template <typename Rule>
void read_rules(StrictReader& file, std::string_view key, const Compatibility& known,
                std::vector<Rule>& rules,
                void (*read)(StrictReader&, const Compatibility&, Rule&)) {
  file.each(key, [&](StrictReader& rule) { read(rule, known, rules.emplace_back()); });
  if (file.has(key) && rules.empty()) file.refuse(key, "must not be empty");
  file.required(key);
}

}  // namespace

Result<Compatibility> read_compatibility(std::string_view text, std::string_view name) {
  LOCKSTEP_TRY(const YamlFile file, YamlFile::parse(std::string(name), std::string(text)));
  Compatibility rules;
  Reading reading(file, {.refuse_null = true});
  reading.map(file.json, [&](StrictReader& reader) {
    reader.any("sources", [&](StrictReader& sources) {
      sources.entries([&](const std::string& source, StrictReader& address) {
        address.text(rules.sources[source]);
      });
    });
    reader.required("sources");
    read_rules(reader, "cudaToolkits", rules, rules.toolkits, read_cuda);
    read_rules(reader, "cudaMajors", rules, rules.majors, read_cuda);
    read_rules(reader, "operators", rules, rules.operators, read_operator);
    read_rules(reader, "drivers", rules, rules.drivers, read_driver);
  });
  LOCKSTEP_CHECK(reading.result());
  return rules;
}

}  // namespace lockstep::rollout

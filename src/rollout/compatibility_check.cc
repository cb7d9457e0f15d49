#include "rollout/compatibility_check.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "base/strings.h"

namespace lockstep::rollout {

namespace {

// The words of a product's name.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      words.back() += c;
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  if (words.back().empty()) words.pop_back();
  for (std::string& word : words) word = lower(word);
  return words;
}

class Check {
 public:
  Check(const VersionTuple& tuple, const Compatibility& rules) : tuple_(tuple), rules_(rules) {}

  std::vector<CompatibilityFinding> run() {
    driver_ = read("driver", tuple_.driver);
    cuda_ = read("cuda", tuple_.cuda);
    operator_ = read("gpu_operator", tuple_.gpu_operator);
    if (tuple_.driver.empty()) unknown("driver", "the driver version is missing");
    check_cuda();
    check_operator();
    check_drivers();
    return std::move(findings_);
  }

 private:
  std::optional<Version> read(std::string_view key, const std::string& text) {
    if (text.empty()) return std::nullopt;
    auto version = parse_version(text);
    if (!version) {
      findings_.push_back({RuleOutcome::broken, "version",
                           fmt::format("invalid version \"{}\" of {}", text, key), ""});
    }
    return version;
  }

  void broken(std::string rule, std::string message, const std::string& source) {
    const auto address = rules_.sources.find(source);
    findings_.push_back({RuleOutcome::broken, std::move(rule), std::move(message),
                         address == rules_.sources.end() ? source : address->second});
  }
  void unknown(std::string rule, std::string message) {
    findings_.push_back({RuleOutcome::unknown, std::move(rule), std::move(message), ""});
  }

  // The row of this very release, or of the minor version that it belongs to.
  const CudaRule* toolkit() const {
    const CudaRule* found = nullptr;
    for (const CudaRule& rule : rules_.toolkits) {
      if (compare_to_bound(*cuda_, rule.cuda.version) != std::strong_ordering::equal) continue;
      if (found == nullptr || rule.cuda.version.size() > found->cuda.version.size()) found = &rule;
    }
    return found;
  }

  void check_cuda() {
    if (!cuda_ || !driver_) return;
    const CudaRule* made_for = toolkit();
    if (made_for == nullptr) {
      return unknown("cuda-driver",
                     fmt::format("CUDA {} is unknown: check its release notes", tuple_.cuda));
    }
    if (compare_versions(*driver_, made_for->driver.version) >= 0) return;
    const auto major =
        std::find_if(rules_.majors.begin(), rules_.majors.end(), [&](const CudaRule& rule) {
          return compare_to_bound(*cuda_, rule.cuda.version) == std::strong_ordering::equal;
        });
    const bool runs =
        major != rules_.majors.end() && compare_versions(*driver_, major->driver.version) >= 0;
    if (runs && tuple_.minor_compatibility) return;
    broken("cuda-driver",
           fmt::format("CUDA {} needs driver {} or newer; this is {}{}", tuple_.cuda,
                       made_for->driver.text, tuple_.driver,
                       runs ? fmt::format("; CUDA {} applications run with {} or newer, without "
                                          "new features (--minor-version-compatibility allows it)",
                                          major->cuda.text, major->driver.text)
                            : std::string()),
           made_for->source);
  }

  void check_operator() {
    if (!operator_) return;
    const auto rule = std::find_if(
        rules_.operators.begin(), rules_.operators.end(), [&](const OperatorRule& candidate) {
          return compare_to_bound(*operator_, candidate.release.version) ==
                 std::strong_ordering::equal;
        });
    if (rule == rules_.operators.end()) {
      return unknown("operator-kubernetes",
                     fmt::format("GPU operator {} is unknown: check its platform support page",
                                 tuple_.gpu_operator));
    }
    check_range("operator-kubernetes", "Kubernetes", tuple_.kubernetes, rule->kubernetes_from,
                rule->kubernetes_to, *rule);
    check_range("operator-openshift", "OpenShift", tuple_.openshift, rule->openshift_from,
                rule->openshift_to, *rule);
    if (tuple_.kubernetes.empty() && tuple_.openshift.empty()) {
      unknown("operator-kubernetes",
              "openshift and kubernetes are both missing: pass --kubernetes VERSION");
    }
  }

  void check_range(const std::string& name, std::string_view what, const std::string& text,
                   const Bound& from, const Bound& to, const OperatorRule& rule) {
    if (text.empty()) return;
    const auto version = read(lower(what), text);
    if (!version) return;
    if (compare_to_bound(*version, from.version) >= 0 &&
        compare_to_bound(*version, to.version) <= 0) {
      return;
    }
    broken(name,
           fmt::format("GPU operator {} supports {} {} to {}; this is {}", rule.release.text, what,
                       from.text, to.text, text),
           rule.source);
  }

  void check_drivers() {
    if (!driver_) return;
    for (const DriverRule& rule : rules_.drivers) {
      if (rule.with_mig_only && !tuple_.mig) continue;
      const std::string who = affected(rule);
      if (who.empty()) continue;
      const std::string why = demand(rule);
      if (why.empty()) continue;
      broken(rule.name, fmt::format("{}: driver {} {}: {}", who, tuple_.driver, why, rule.reason),
             rule.source);
    }
    if (tuple_.gpus.empty()) {
      unknown("gpu-models",
              "no GPU model is named, so minimum drivers of models were not checked: pass --gpu, "
              "or set gpus: [H100] in the file");
    }
  }

  // Which of the fleet's models the rule is about; empty: none.
  std::string affected(const DriverRule& rule) const {
    if (rule.models.empty()) return "any GPU";
    std::vector<std::string> found;
    for (const std::string& product : tuple_.gpus) {
      const bool is_meant =
          std::any_of(rule.models.begin(), rule.models.end(),
                      [&](const std::string& model) { return is_model(product, model); });
      if (is_meant) found.push_back(product);
    }
    return join(found, ", ");
  }

  // What the driver breaks; empty: nothing.
  std::string demand(const DriverRule& rule) const {
    if (rule.at_least && compare_versions(*driver_, rule.at_least->version) < 0) {
      return fmt::format("is older than {}", rule.at_least->text);
    }
    if (rule.below && compare_versions(*driver_, rule.below->version) >= 0) {
      return fmt::format("must be older than {}", rule.below->text);
    }
    for (const Bound& hole : rule.not_versions) {
      if (compare_versions(*driver_, hole.version) == std::strong_ordering::equal) {
        return "is a known bad version";
      }
    }
    if (rule.hole_from && compare_versions(*driver_, rule.hole_from->version) >= 0 &&
        compare_versions(*driver_, rule.hole_before->version) < 0) {
      return fmt::format("is between {} and {}", rule.hole_from->text, rule.hole_before->text);
    }
    return {};
  }

  const VersionTuple& tuple_;
  const Compatibility& rules_;
  std::optional<Version> driver_, cuda_, operator_;
  std::vector<CompatibilityFinding> findings_;
};

}  // namespace

VersionTuple tuple_of(const Matrix& matrix, Slot slot) {
  VersionTuple tuple;
  // The canary runs what it does not say as the fleet does.
  auto value = [&](std::string_view key) {
    std::string_view text = matrix.value(slot, key);
    if (text.empty()) text = matrix.value(Slot::current, key);
    return std::string(text);
  };
  tuple.driver = value("driver");
  tuple.cuda = value("cuda");
  tuple.gpu_operator = value("gpu_operator");
  tuple.kubernetes = value("kubernetes");
  tuple.openshift = value("openshift");
  tuple.gpus = matrix.gpus;
  return tuple;
}

std::vector<CompatibilityFinding> check_compatibility(const VersionTuple& tuple,
                                                      const Compatibility& rules) {
  return Check(tuple, rules).run();
}

bool is_broken(const std::vector<CompatibilityFinding>& findings) {
  return std::any_of(findings.begin(), findings.end(), [](const CompatibilityFinding& finding) {
    return finding.verdict == RuleOutcome::broken;
  });
}

bool is_model(std::string_view product, std::string_view model) {
  const std::vector<std::string> words = words_of(product);
  const std::vector<std::string> wanted = words_of(model);
  return !wanted.empty() &&
         std::search(words.begin(), words.end(), wanted.begin(), wanted.end()) != words.end();
}

}  // namespace lockstep::rollout

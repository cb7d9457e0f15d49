// The table of reasons (src/fleet/reasons.inc) against the code that returns them, docs/REASONS.md,
// which is made of it, and docs/TROUBLESHOOTING.md, which explains each.
#include <filesystem>
#include <fstream>
#include <regex>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "fleet/reason.h"
#include "rollout/bake.h"
#include "rollout/rollout_status.h"
#include "words.h"

namespace lockstep::documentation::reasons_test {
namespace {

using fleet::ReasonName;
using fleet::ReasonRow;

const std::filesystem::path root = LOCKSTEP_SOURCE_DIR;

// Words of others that the code only reads or passes on. A word of our own does not belong here.
const std::set<std::string> others = {
    // Kinds of objects and their fields.
    "ClusterPolicy", "ConfigMap", "DaemonSet", "DeleteOptions", "DisruptionBudget", "Eviction",
    "Exists", "False", "Job", "NVIDIADriver", "Never", "Pod", "True",
    // Why containers wait, and conditions.
    "ContainerCreating", "CrashLoopBackOff", "CreateContainerConfigError", "CreateContainerError",
    "ErrImagePull", "Image", "ImagePullBackOff", "InvalidImageName", "PodInitializing",
    "Progressing", "Ready",
    // Fields of a DriverRollout, and names of products.
    "GPUDriverUpgrade", "Hold", "Kubernetes", "Lockstep", "OpenShift", "RollBack",
    // Fields of pods.
    "Default", "FallbackToLogsOnError", "None", "RuntimeDefault",
    // HTTP, time zones, numbers.
    "Fri", "Mon", "POST", "Sat", "Sun", "TZif", "Thu", "Tue", "UTC", "Wed"};

// All names of an enumeration whose to_string() is empty past its end.
template <typename Enum>
void add_names(std::set<std::string>& names) {
  for (int i = 0;; ++i) {
    const std::string_view name = to_string(static_cast<Enum>(i));
    if (name.empty()) return;
    names.emplace(name);
  }
}

// Phases and outcomes: they have their paragraphs too, and some are reasons besides.
std::set<std::string> states_of_rollouts() {
  std::set<std::string> names;
  add_names<rollout::Phase>(names);
  add_names<rollout::Outcome>(names);
  add_names<rollout::BakeOutcome>(names);
  return names;
}

std::set<std::string> reasons() {
  std::set<std::string> names;
  for (const ReasonRow& row : fleet::all_reasons()) names.emplace(row.name);
  return names;
}

std::map<std::string, std::string> explained() {
  return paragraphs(read_file(root / "docs/TROUBLESHOOTING.md"));
}

TEST(Reasons, EachHasItsParagraphAndEachParagraphItsReason) {
  std::set<std::string> names = reasons();
  names.merge(states_of_rollouts());
  auto documented = explained();
  for (const std::string& name : names) {
    EXPECT_TRUE(documented.contains(name))
        << "docs/TROUBLESHOOTING.md has no \"### " << name << "\"";
    EXPECT_GT(documented[name].size(), 15U) << name;
  }
  for (const auto& [name, text] : documented) {
    EXPECT_TRUE(names.contains(name)) << "no code says " << name << " any more";
  }
}

TEST(Reasons, EachIsGivenByTheCode) {
  std::string code;
  for (const auto& [path, text] : code_of(root / "src")) {
    if (path.find("/src/sim/") == std::string::npos) code += text;
  }
  ASSERT_GT(code.size(), 1'000'000U) << "the code was not found";
  const std::string enumerators[] = {
#define ROW(enumerator, ...) #enumerator,
#include "fleet/reasons.inc"
#undef ROW
  };
  std::set<std::string> given;
  static const std::regex use(R"(\bReason::(\w+))");
  for (std::sregex_iterator at(code.begin(), code.end(), use), end; at != end; ++at) {
    given.insert((*at)[1].str());
  }
  for (const std::string& enumerator : enumerators) {
    EXPECT_TRUE(given.contains(enumerator)) << "no code gives Reason::" << enumerator;
  }
}

// A reason that is spelled out is not checked by the compiler, and a new one is not in the table.
TEST(Reasons, NoneIsSpelledOutInTheCode) {
  const std::set<std::string> states = states_of_rollouts();
  std::set<std::string> words;
  for (const char* folder : {"upgrade", "rollout", "view", "controller"}) {
    for (const auto& [path, text] : code_of(root / "src" / folder)) {
      for (const std::string& word : capital_words(text)) {
        EXPECT_TRUE(states.contains(word) || others.contains(word)) << path << " says " << word;
        words.insert(word);
      }
    }
  }
  for (const std::string& word : others) {
    EXPECT_TRUE(words.contains(word)) << word << " is no longer in the code: take it off the list";
    EXPECT_FALSE(reasons().contains(word)) << word << " is ours after all";
  }
  // What these read of a cluster has words of its own.
  const std::set<std::string> names = reasons();
  for (const char* folder : {"cli", "dashboard", "doctor", "fleet", "node", "notify", "operate"}) {
    for (const auto& [path, text] : code_of(root / "src" / folder)) {
      for (const std::string& word : capital_words(text)) {
        EXPECT_FALSE(names.contains(word) && !states.contains(word)) << path << " says " << word;
      }
    }
  }
}

TEST(Reasons, AParagraphThatTellsToRetryIsOfAReasonThatARetryHelps) {
  static const std::regex retry(R"(`(lockstep )?(rollout )?retry)");
  for (const auto& [name, text] : explained()) {
    // The others are phases and outcomes.
    if (!reasons().contains(name) || !std::regex_search(text, retry)) continue;
    EXPECT_TRUE(ReasonName::read(name).row().retry_helps || name == "Retry") << name;
  }
}

std::string reasons_page() {
  std::string page =
      R"(# Reasons

Reference: every reason that Lockstep gives, in `lockstep why`, `lockstep status`, Events, metrics, notifications and
the status of a rollout. The links lead to what to do ([TROUBLESHOOTING.md](TROUBLESHOOTING.md)). This page is made of
the table in `src/fleet/reasons.inc`, and a test compares the two.

- **class**: *informs* is a step or a result. *waits* names what has to happen first, and *fails* what went wrong.
  *waits, then fails* is a wait that becomes a failure when its time is over.
- **severity**: how much it matters to a user who is not looking; *none* is normal operation. Notifications about a held
  pool or a failed node have this severity, and so have alerts about a reason.
- **may last**: neither Lockstep nor the end of work in progress ends it. A user, the cluster or the clock does.
- **retry helps**: `lockstep retry NODE` or `lockstep rollout retry` can end it, mostly after a repair.

A name that is not here was written by another version of Lockstep. It is shown as it is.

| reason | class | severity | may last | retry helps | meaning |
|---|---|---|---|---|---|
)";
  auto yes = [](bool value) { return value ? "yes" : "no"; };
  for (const ReasonRow& row : fleet::all_reasons()) {
    page +=
        fmt::format("| [`{}`](TROUBLESHOOTING.md#{}) | {} | {} | {} | {} | {} |\n", row.name,
                    ReasonName(row.reason).anchor(), to_string(row.reason_class),
                    to_string(row.severity), yes(row.may_last), yes(row.retry_helps), row.meaning);
  }
  return page;
}

TEST(Reasons, TheirPageIsMadeOfTheTable) {
  const std::string expected = reasons_page();
  const std::string made = ::testing::TempDir() + "REASONS.md";
  if (read_file(root / "docs/REASONS.md") == expected) return;
  std::ofstream(made) << expected;
  ADD_FAILURE() << "docs/REASONS.md is not made of src/fleet/reasons.inc: cp " << made
                << " docs/REASONS.md";
}

}  // namespace
}  // namespace lockstep::documentation::reasons_test

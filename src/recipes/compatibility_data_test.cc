// recipes/compatibility.yaml: it is readable, and has the incompatibilities that users have met.
#include <algorithm>

#include <gtest/gtest.h>

#include "recipes/embedded_catalogue.h"
#include "rollout/compatibility_check.h"

namespace lockstep::recipes::compatibility_data_test {
namespace {

using rollout::VersionTuple;

rollout::Compatibility our_rules() {
  const auto& files = embedded_files();
  const auto file = std::find_if(files.begin(), files.end(), [](const EmbeddedFile& candidate) {
    return candidate.path == "compatibility.yaml";
  });
  EXPECT_NE(file, files.end());
  auto rules = rollout::read_compatibility(file->text, file->path);
  EXPECT_TRUE(rules.has_value()) << rules.error().text();
  return rules.value_or(rollout::Compatibility{});
}

std::vector<std::string> broken(const VersionTuple& tuple) {
  std::vector<std::string> names;
  for (const auto& finding : rollout::check_compatibility(tuple, our_rules())) {
    if (finding.verdict != rollout::RuleOutcome::broken) continue;
    names.push_back(finding.rule);
    EXPECT_TRUE(finding.source.starts_with("https://")) << finding.message;
  }
  return names;
}

using Names = std::vector<std::string>;

TEST(CompatibilityData, KnowsTheSourceDocumentsVersions) {
  EXPECT_EQ(broken({.driver = "560.35.03",
                    .cuda = "12.6",
                    .gpu_operator = "v24.9.0",
                    .openshift = "4.16.23",
                    .gpus = {"H100"}}),
            Names{});
  EXPECT_EQ(broken({.driver = "565.57.01", .cuda = "12.8"}), Names{"cuda-driver"});
}

TEST(CompatibilityData, KnowsWhatHasBittenPeople) {
  struct Row {
    VersionTuple tuple;
    Names rules;
  };
  for (const Row& row : std::vector<Row>{
           {{.driver = "570.124.06", .gpus = {"NVIDIA-B200"}}, {"b200-floor"}},
           {{.driver = "570.172.08", .gpus = {"NVIDIA-B200"}}, {}},
           {{.driver = "575.57.08",
             .gpus = {"NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition"},
             .mig = true},
            {"rtx-pro-6000-mig"}},
           {{.driver = "580.65.06", .gpus = {"Tesla-V100-SXM2-32GB"}}, {}},
           {{.driver = "590.44.01", .gpus = {"Tesla-V100-SXM2-32GB"}}, {"before-turing-ceiling"}},
           {{.driver = "525.85.12", .gpus = {"H100"}}, {"gsp-timeout-hole"}},
           {{.driver = "570.148.08", .gpus = {"A100"}, .mig = true}, {"mig-mixed-hole"}},
           {{.driver = "570.148.08", .gpus = {"A100"}}, {}},
           {{.driver = "570.86.15", .cuda = "13.0"}, {"cuda-driver"}},
           {{.driver = "570.172.08", .gpu_operator = "25.3.4", .kubernetes = "1.28.0"},
            {"operator-kubernetes"}},
           {{.driver = "570.172.08", .gpu_operator = "24.9.2", .openshift = "4.18.2"},
            {"operator-openshift"}}}) {
    EXPECT_EQ(broken(row.tuple), row.rules) << row.tuple.driver;
  }
}

}  // namespace
}  // namespace lockstep::recipes::compatibility_data_test

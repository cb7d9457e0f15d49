// The tables that our readers and the chart's admission policies are both held to: upgrade policies
// (upgrade_policies.yaml) and GpuConfigs (gpu_configs.yaml). Here are the readers; the others need
// a real API server (tests/real/installation_test.cc).
#include <algorithm>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "base/strings.h"
#include "data/yaml.h"
#include "dra/gpu_config.h"
#include "upgrade/policy.h"

namespace lockstep::upgrade::policies_test {
namespace {

TEST(UpgradePolicies, AreRightOrWrongAsTheTableSays) {
  std::ifstream file(LOCKSTEP_TEST_POLICIES);
  std::stringstream text;
  text << file.rdbuf();
  auto table = parse_yaml(text.str(), LOCKSTEP_TEST_POLICIES);
  ASSERT_TRUE(table) << table.error().text();
  ASSERT_GT(table->get_array().size(), 30u);
  for (const Json& row : table->get_array()) {
    const Json& written = *find(row, "policy");
    Policy policy = read_policy(&written, "");
    std::vector<std::string> wrong;
    if (const Json* fields = find(row, "wrong")) {
      for (const Json& field : fields->get_array()) wrong.emplace_back(as_text(&field));
    }
    EXPECT_EQ(policy.problems.size(), wrong.size())
        << print_json(written) << " " << join(policy.problems, "; ");
    for (const std::string& field : wrong) {
      bool named = std::any_of(policy.problems.begin(), policy.problems.end(),
                               [&](const std::string& problem) {
                                 return problem.starts_with("upgradePolicy." + field + ": ");
                               });
      EXPECT_TRUE(named) << field << " in " << print_json(written);
    }
  }
}

TEST(GpuConfigs, AreRightOrWrongAsTheTableSays) {
  std::ifstream file(LOCKSTEP_TEST_GPU_CONFIGS);
  std::stringstream text;
  text << file.rdbuf();
  auto table = parse_yaml(text.str(), LOCKSTEP_TEST_GPU_CONFIGS);
  ASSERT_TRUE(table) << table.error().text();
  ASSERT_GT(table->get_array().size(), 20u);
  for (const Json& row : table->get_array()) {
    JsonObject written{{"apiVersion", "gpu.lockstep.dev/v1alpha1"}, {"kind", "GpuConfig"}};
    for (const auto& [key, value] : find(row, "config")->get_object()) written[key] = value;
    auto config = dra::decode_gpu_config(written);
    const Json* wrong = find(row, "wrong");
    ASSERT_EQ(config.has_value(), wrong == nullptr) << print_json(written);
    if (wrong == nullptr) continue;
    std::vector<std::string_view> said = split(config.error().message, ';');
    for (const Json& path : wrong->get_array()) {
      std::string start = std::string(as_text(&path)) + ": ";
      bool named = std::any_of(said.begin(), said.end(), [&](std::string_view mistake) {
        return trim(mistake).starts_with(start);
      });
      EXPECT_TRUE(named) << start << " in " << config.error().text();
    }
  }
}

// The expression of the admission policy lists what the plugin lists.
TEST(GpuConfigs, ThePolicyAllowsAClaimTheVariablesThatThePluginAllows) {
  std::ifstream file(LOCKSTEP_TEST_GPU_CONFIG_POLICY);
  std::stringstream text;
  text << file.rdbuf();
  const std::string policy = text.str();
  const size_t from = policy.find("- name: allowed");
  ASSERT_NE(from, std::string::npos);
  const size_t begin = policy.find('[', from);
  std::vector<std::string> listed;
  for (std::string_view name : split(
           std::string_view(policy).substr(begin + 1, policy.find(']', begin) - begin - 1), ',')) {
    listed.emplace_back(trim(name));
  }
  std::vector<std::string> allowed;
  for (std::string_view name : dra::variables_of_claims()) {
    allowed.push_back(fmt::format("'{}'", name));
  }
  EXPECT_EQ(listed, allowed);
}

}  // namespace
}  // namespace lockstep::upgrade::policies_test

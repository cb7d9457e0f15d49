// The table that the controller's reader of policies and the chart's admission policy are both held
// to (upgrade_policies.yaml). Here is the controller's side; the other needs a genuine API server.
#include <algorithm>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "base/strings.h"
#include "data/yaml.h"
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
                                 return problem.starts_with("upgradePolicy." + field + " ");
                               });
      EXPECT_TRUE(named) << field << " in " << print_json(written);
    }
  }
}

}  // namespace
}  // namespace lockstep::upgrade::policies_test

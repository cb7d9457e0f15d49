// The rules and the dashboard of deploy/monitoring: genuine promtool reads them, the alerts fire
// when they should, and they ask only for metrics and reasons that the code has.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include <gtest/gtest.h>

#include "words.h"

namespace lockstep::documentation::monitoring_test {
namespace {

const std::filesystem::path root = LOCKSTEP_SOURCE_DIR;
const std::filesystem::path monitoring = root / "deploy/monitoring";

std::string read(const std::filesystem::path& path) {
  std::ifstream stream(path);
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

int promtool(const std::string& words) {
  return std::system(("promtool " + words + " > /dev/null").c_str());
}

// The queries of the dashboard's panels, with its variable filled in.
std::vector<std::string> queries_of_dashboard() {
  std::string text = read(monitoring / "grafana-dashboard.json");
  static const std::regex pattern(R"re("expr": "((?:[^"\\]|\\.)*)")re");
  std::vector<std::string> queries;
  for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at) {
    std::string query = std::regex_replace((*at)[1].str(), std::regex(R"(\\")"), "\"");
    queries.push_back(std::regex_replace(query, std::regex(R"(\$pool)"), ".*"));
  }
  return queries;
}

std::set<std::string> metrics_in(const std::string& text) {
  static const std::regex pattern(R"((lockstep_[a-z_]+|gpu_operator_[a-z_]+))");
  static const std::regex part(R"((_bucket|_sum|_count)$)");
  std::set<std::string> names;
  for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at) {
    names.insert(std::regex_replace((*at)[1].str(), part, ""));
  }
  return names;
}

TEST(Monitoring, PromtoolReadsTheRulesAndTheAlertsFireWhenTheyShould) {
  ASSERT_EQ(promtool("--version"), 0) << "the Debian package prometheus has promtool";
  EXPECT_EQ(promtool("check rules " + (monitoring / "rules.yaml").string()), 0);
  EXPECT_EQ(promtool("test rules " + (monitoring / "rules_test.yaml").string()), 0);
}

TEST(Monitoring, EveryAlertIsTestedToFire) {
  std::string rules = read(monitoring / "rules.yaml");
  std::string tests = read(monitoring / "rules_test.yaml");
  static const std::regex pattern(R"(alert: (\w+))");
  size_t alerts = 0;
  for (std::sregex_iterator at(rules.begin(), rules.end(), pattern), end; at != end; ++at) {
    ++alerts;
    std::string name = (*at)[1].str();
    EXPECT_NE(tests.find("{alertname=\"" + name + "\"}"), std::string::npos) << name;
    EXPECT_NE(tests.find("alertname: " + name + ", exp_alerts: []"), std::string::npos) << name;
  }
  EXPECT_GE(alerts, 10U);
}

TEST(Monitoring, PromtoolReadsEveryQueryOfTheDashboard) {
  std::vector<std::string> queries = queries_of_dashboard();
  ASSERT_GT(queries.size(), 12U);
  std::string file = ::testing::TempDir() + "lockstep-dashboard-queries.yaml";
  std::ofstream out(file);
  out << "groups:\n- name: dashboard\n  rules:\n";
  for (size_t i = 0; i < queries.size(); ++i) {
    out << "  - record: lockstep:query" << i << "\n    expr: |-\n      " << queries[i] << "\n";
  }
  out.close();
  EXPECT_EQ(promtool("check rules " + file), 0) << file;
  std::filesystem::remove(file);
}

TEST(Monitoring, OnlyMetricsAndReasonsThatThereAre) {
  std::set<std::string> known;
  for (const std::string& cell : first_cells(read(root / "docs/REFERENCE.md"))) known.insert(cell);
  std::string rules = read(monitoring / "rules.yaml");
  std::set<std::string> used = metrics_in(rules);
  for (const std::string& query : queries_of_dashboard()) used.merge(metrics_in(query));
  ASSERT_GT(used.size(), 10U);
  for (const std::string& name : used) EXPECT_TRUE(known.contains(name)) << name;
  auto reasons = paragraphs(read(root / "docs/TROUBLESHOOTING.md"));
  static const std::regex reason(R"re(reason="(\w+)")re");
  for (std::sregex_iterator at(rules.begin(), rules.end(), reason), end; at != end; ++at) {
    EXPECT_TRUE(reasons.contains((*at)[1].str())) << (*at)[1].str();
  }
}

}  // namespace
}  // namespace lockstep::documentation::monitoring_test

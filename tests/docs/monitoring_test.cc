// The rules and the dashboard of deploy/monitoring: real promtool reads them, the alerts fire
// when they should, and they ask only for metrics and reasons that the code has.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>

#include <gtest/gtest.h>

#include "fleet/reason.h"
#include "words.h"

namespace lockstep::documentation::monitoring_test {
namespace {

const std::filesystem::path root = LOCKSTEP_SOURCE_DIR;
const std::filesystem::path monitoring = root / "deploy/monitoring";

int promtool(const std::string& words) {
  return std::system(("promtool " + words + " > /dev/null").c_str());
}

// The queries of the dashboard's panels, with its variable filled in.
std::vector<std::string> queries_of_dashboard() {
  std::string text = read_file(monitoring / "grafana-dashboard.json");
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
  std::string rules = read_file(monitoring / "rules.yaml");
  std::string tests = read_file(monitoring / "rules_test.yaml");
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

TEST(Monitoring, OnlyMetricsThatThereAre) {
  std::set<std::string> known;
  for (const std::string& cell : first_cells(read_file(root / "docs/REFERENCE.md"))) {
    known.insert(cell);
  }
  std::string rules = read_file(monitoring / "rules.yaml");
  std::set<std::string> used = metrics_in(rules);
  for (const std::string& query : queries_of_dashboard()) used.merge(metrics_in(query));
  ASSERT_GT(used.size(), 10U);
  for (const std::string& name : used) EXPECT_TRUE(known.contains(name)) << name;
}

// An alert about a reason is as severe as that reason, and its runbook is the reason's paragraph.
TEST(Monitoring, AlertsReadTheTableOfReasons) {
  const std::string rules = read_file(monitoring / "rules.yaml");
  static const std::regex alert(
      R"re(reason="(\w+)"[\s\S]*?severity: (\w+)[\s\S]*?runbook: (\S+))re");
  size_t count = 0;
  for (std::sregex_iterator at(rules.begin(), rules.end(), alert), end; at != end; ++at) {
    ++count;
    const fleet::ReasonName name = fleet::ReasonName::read((*at)[1].str());
    EXPECT_TRUE(name.row().waits() || name.row().fails()) << name.view();
    EXPECT_EQ((*at)[2].str(), to_string(name.row().severity)) << name.view();
    EXPECT_EQ((*at)[3].str(), "docs/TROUBLESHOOTING.md#" + name.anchor());
  }
  EXPECT_GE(count, 2U);
  std::set<std::string> anchors;
  for (const fleet::ReasonRow& row : fleet::all_reasons()) {
    anchors.insert(fleet::ReasonName(row.reason).anchor());
  }
  static const std::regex runbook(R"(TROUBLESHOOTING\.md#(\w+))");
  for (std::sregex_iterator at(rules.begin(), rules.end(), runbook), end; at != end; ++at) {
    EXPECT_TRUE(anchors.contains((*at)[1].str())) << (*at)[1].str();
  }
}

}  // namespace
}  // namespace lockstep::documentation::monitoring_test

// The doctor's check of rights, where rights are real: a real RBAC authorizer answers.
#include <gtest/gtest.h>

#include "folder.h"
#include "real_cluster.h"

namespace lockstep::real::doctor_test {
namespace {

using commands::has;

TEST(RealDoctor, NamesTheRightsThatAreMissingAndItsCommandGrantsThem) {
  if (std::string why = ControlPlane::missing(); !why.empty()) GTEST_SKIP() << why;
  RealCluster cluster;
  cluster.add_real_fleet(1, 20);
  auto rights = [&] {
    ProcessOutput run = cluster.lockstep({"doctor", "-o", "json"});
    auto document = parse_json(run.output);
    EXPECT_TRUE(document) << run.output << run.error;
    if (document) {
      for (const Json& check : find(*document, "checks")->get_array()) {
        if (text_at(check, "name") == "Rights") return check;
      }
    }
    return Json();
  };
  Json before = rights();
  EXPECT_EQ(text_at(before, "verdict"), "wrong") << print_json(before);
  EXPECT_TRUE(has(print_json(before), "patch nodes")) << print_json(before);
  ASSERT_EQ(text_at(before, "fix"), "lockstep install -n lockstep-system");
  ProcessOutput repair = cluster.lockstep(
      {"install", "--image", "registry.example.com/lockstep", "-n", "lockstep-system"});
  EXPECT_EQ(repair.exit_code, 0) << repair.output << repair.error;
  EXPECT_TRUE(cluster.wait([&] { return text_at(rights(), "verdict") == "ok"; }))
      << print_json(rights());
  // As a hand that tidies up would take them away again.
  ProcessOutput tidy = cluster.sh("kubectl delete clusterrole lockstep-controller");
  EXPECT_EQ(tidy.exit_code, 0) << tidy.error;
  EXPECT_TRUE(cluster.wait([&] { return text_at(rights(), "verdict") == "wrong"; }))
      << print_json(rights());
}

}  // namespace
}  // namespace lockstep::real::doctor_test

#include "doctor/node_checks.h"

#include "doctor/doctor_test_util.h"

namespace lockstep::doctor::node_checks_test {
namespace {

NodeFacts healthy_node() {
  NodeFacts facts;
  facts.module_version = "580.126.20";
  facts.libraries = {{"/usr/lib/libnvidia-ml.so.580.126.20", "580.126.20"}};
  facts.users = {{42, "dcgm", "/usr/lib/libnvidia-ml.so.580.126.20", "580.126.20", false}};
  facts.cdi_files = {{"/var/run/cdi/claim-a.json", "a", {}}, {"/etc/cdi/nvidia.yaml", "", {}}};
  facts.checkpoint = std::vector<CheckpointClaim>{{"a", "ml/a", true}};
  facts.checkpoint_path = "/var/lib/checkpoint";
  return facts;
}

TEST(NodeChecks, AHealthyMachineIsFine) {
  for (const Check& check : examine_node(healthy_node())) expect_fine(check);
}

TEST(NodeChecks, LibrariesOfAnotherVersionThanTheModule) {
  NodeFacts facts = healthy_node();
  facts.libraries[0] = {"/usr/lib/libnvidia-ml.so.570.1.2", "570.1.2"};
  expect_wrong(check_libraries(facts), "has 570.1.2", "delete pod");
  facts.module_version.reset();
  expect_wrong(check_libraries(facts), "no kernel module is loaded", "kubectl");
  facts.libraries.clear();
  EXPECT_EQ(check_libraries(facts).verdict, Verdict::skipped);
}

TEST(NodeChecks, ProcessesThatHaveAnOldLibraryOpen) {
  NodeFacts facts = healthy_node();
  facts.users.push_back(
      {7, "nvidia-dra-plugin", "/usr/lib/libnvidia-ml.so.570.1.2", "570.1.2", false});
  expect_wrong(check_library_users(facts), "nvidia-dra-plugin (process 7)", "kill 7");
  facts = healthy_node();
  facts.users[0].deleted = true;
  expect_wrong(check_library_users(facts), "which no longer exists", "kill 42");
  facts.module_version.reset();
  EXPECT_EQ(check_library_users(facts).verdict, Verdict::skipped);
}

TEST(NodeChecks, CdiFilesOfNoClaimOrOfAnEarlierDriver) {
  NodeFacts facts = healthy_node();
  facts.cdi_files.push_back({"/var/run/cdi/claim-b.json", "b", {}});
  expect_wrong(check_cdi_files(facts), "of a claim that is not prepared",
               "rm /var/run/cdi/claim-b.json");
  facts = healthy_node();
  facts.cdi_files[1].missing = {"/usr/lib/libcuda.so.570.1.2"};
  expect_wrong(check_cdi_files(facts), "libcuda.so.570.1.2",
               "nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml");
}

TEST(NodeChecks, CheckpointsThatDoNotFitTheMachine) {
  NodeFacts facts = healthy_node();
  facts.checkpoint->push_back({"c", "ml/c", true});
  expect_wrong(check_checkpoint(facts), "claim ml/c (c) is prepared and has no CDI file",
               "kubectl");
  facts = healthy_node();
  facts.checkpoint->push_back({"d", "ml/d", false});
  expect_fine(check_checkpoint(facts));
  facts.from_before_boot = 2;
  expect_wrong(check_checkpoint(facts), "2 of claims from before", "kubectl");
  facts = healthy_node();
  facts.checkpoint_problems = {"line 3 is damaged"};
  expect_wrong(check_checkpoint(facts), "line 3 is damaged", "kubectl");
  facts = NodeFacts();
  EXPECT_EQ(check_checkpoint(facts).verdict, Verdict::skipped);
}

TEST(NodeChecks, TheVersionInALibrarysName) {
  EXPECT_EQ(version_of_library("libnvidia-ml.so.580.126.20"), "580.126.20");
  EXPECT_EQ(version_of_library("libnvidia-ml.so.1"), std::nullopt);
  EXPECT_EQ(version_of_library("libnvidia-ml.so"), std::nullopt);
  EXPECT_EQ(version_of_library("libnvidia-ml.so.580.x"), std::nullopt);
}

}  // namespace
}  // namespace lockstep::doctor::node_checks_test

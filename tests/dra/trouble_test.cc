// The plugin's executable, killed around and in the middle of every change of a file that a prepare
// and an unprepare make, and on disks that refuse.
#include <cerrno>
#include <cstdlib>

#include <gtest/gtest.h>

#include "child.h"
#include "dra_node.h"

namespace lockstep::dra::trouble_test {
namespace {

struct Trouble : ::testing::Test {
  void SetUp() override {
    const char* library = std::getenv("DRA_TROUBLE");
    ASSERT_NE(library, nullptr);
    trouble = {{"LD_PRELOAD", library}, {"LOCKSTEP_TROUBLE_FOLDER", node.path("")}};
    trouble["LOCKSTEP_REFUSE"] = node.path("refuse");
  }
  void start() {
    node.environment.clear();
    node.start_plugin();
    node.wait_ready();
  }
  // With a planted fault. False: it was killed before it served.
  bool start_to_be_killed(int step) {
    node.environment = trouble;
    if (step > 0) node.environment["LOCKSTEP_KILL_AT"] = std::to_string(step);
    node.start_plugin();
    return node.wait([&] {
      return node.plugin().exit_code().has_value() ||
             (!node.kubelet().endpoints().empty() &&
              node.status("/readyz").find(" 200 ") != std::string::npos);
    }) && !node.plugin().exit_code();
  }
  bool is_dead() {
    return node.wait([&] { return node.plugin().exit_code().has_value(); }, seconds(2));
  }

  DraNode node{1};
  std::map<std::string, std::string> trouble;
};

TEST_F(Trouble, KilledAtEveryWriteTheNextProcessServesTheNextCall) {
  // The first start writes the checkpoint: from then on a start changes nothing.
  start();
  node.kill_plugin();
  int kills = 0;
  for (int step = 1;; ++step) {
    SCOPED_TRACE(step);
    ASSERT_LT(step, 60);
    bool is_killed = !start_to_be_killed(step);
    KubeletClaim claim = node.claim("c", "gpu-0");
    if (!is_killed) {
      auto prepared = node.kubelet().prepare({claim});
      if (prepared) {
        EXPECT_EQ(prepared->at(claim.uid).error, "");
        auto undone = node.kubelet().unprepare({claim});
        is_killed = !undone;
      } else {
        is_killed = true;
      }
    }
    if (!is_killed) {
      // Nothing is left that it could have been killed at.
      node.kill_plugin();
      break;
    }
    ASSERT_TRUE(is_dead());
    ++kills;
    start();
    PodRun pod = node.kubelet().start_pod({claim});
    EXPECT_EQ(pod.phase, PodPhase::running) << pod.message;
    EXPECT_EQ(pod.environment["LOCKSTEP_GPU_0"], "GPU-fake-0");
    auto ended = node.kubelet().end_pod({claim});
    ASSERT_TRUE(ended) << ended.error().text();
    EXPECT_TRUE(node.files_in("cdi").empty());
    node.kill_plugin();
    node.remove_claim("c");
  }
  // A line written (3) and synced (2); a spec made, written (3) and renamed (2); a spec removed
  // (2); a line written and synced.
  EXPECT_EQ(kills, 5 + 6 + 2 + 5);
}

TEST_F(Trouble, AFullDiskIsSaidAndOver) {
  ASSERT_TRUE(start_to_be_killed(0));
  KubeletClaim claim = node.claim("a", "gpu-0");
  ASSERT_TRUE(SystemFiles().write(node.path("refuse"), std::to_string(ENOSPC)));
  node.kill_plugin();
  node.environment = trouble;
  node.start_plugin("plugin", {"--call-limit", "2s"});
  node.wait_ready();
  PodRun pod = node.kubelet().start_pod({claim});
  EXPECT_EQ(pod.phase, PodPhase::pending);
  EXPECT_NE(pod.message.find("the checkpoint cannot be written"), std::string::npos) << pod.message;
  EXPECT_NE(pod.message.find("try again"), std::string::npos) << pod.message;
  EXPECT_TRUE(node.files_in("cdi").empty());
  ASSERT_TRUE(SystemFiles().remove(node.path("refuse")));
  pod = node.kubelet().start_pod({claim});
  EXPECT_EQ(pod.phase, PodPhase::running) << pod.message;
}

TEST_F(Trouble, AReadOnlyCdiFolderIsSaidAndOver) {
  ASSERT_TRUE(start_to_be_killed(0));
  node.kill_plugin();
  trouble["LOCKSTEP_TROUBLE_FOLDER"] = node.path("cdi");
  node.environment = trouble;
  node.start_plugin("plugin", {"--call-limit", "2s"});
  node.wait_ready();
  KubeletClaim first = node.claim("a", "gpu-0");
  ASSERT_EQ(node.kubelet().start_pod({first}).phase, PodPhase::running);
  ASSERT_TRUE(SystemFiles().write(node.path("refuse"), std::to_string(EROFS)));
  auto ended = node.kubelet().end_pod({first});
  ASSERT_FALSE(ended);
  EXPECT_NE(ended.error().message.find("cannot be removed"), std::string::npos)
      << ended.error().message;
  ASSERT_TRUE(SystemFiles().remove(node.path("refuse")));
  ended = node.kubelet().end_pod({first});
  ASSERT_TRUE(ended) << ended.error().text();
  ASSERT_TRUE(SystemFiles().write(node.path("refuse"), std::to_string(EROFS)));
  PodRun pod = node.kubelet().start_pod({first});
  EXPECT_NE(pod.message.find("the CDI spec cannot be written"), std::string::npos) << pod.message;
  ASSERT_TRUE(SystemFiles().remove(node.path("refuse")));
  EXPECT_EQ(node.kubelet().start_pod({first}).phase, PodPhase::running);
}

}  // namespace
}  // namespace lockstep::dra::trouble_test

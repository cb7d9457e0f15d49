#include "controller/rollout_controller.h"

#include <gtest/gtest.h>

#include "view/watched_fleet_test_util.h"

namespace lockstep::controller::rollout_controller_test {
namespace {

using namespace view;

// A rollout whose driver's object is to be restored, beside an API that may refuse it.
class RolloutControllerTest : public ::testing::Test {
 protected:
  static view::FleetWatchOptions with_rollouts() {
    view::FleetWatchOptions options;
    options.rollouts.enabled = true;
    return options;
  }
  RolloutControllerTest() {
    fleet.add_usual();
    fleet.add_policy("{}", R"({"spec":{"driver":{"version":"580.126.20"}}})");
    fleet.put(fleet::driver_rollouts, key, json_of(R"({
      "apiVersion":"lockstep.dev/v1alpha1","kind":"DriverRollout","metadata":{"name":"driver"},
      "spec":{"driver":{"kind":"ClusterPolicy","name":"cluster-policy"}},
      "status":{"phase":"RollingBack","closed":true,"openWaves":1,"wavesToReturn":1,
        "phaseSince":"2026-01-01T00:00:00Z",
        "stable":{"revisions":{"gpu-operator/nvidia-driver-daemonset":"r0"},
                  "version":"570-corp","fields":{"version":"570-corp"}},
        "from":{"revisions":{"gpu-operator/nvidia-driver-daemonset":"r0"},
                "version":"570-corp","fields":{"version":"570-corp"}},
        "to":{"revisions":{"gpu-operator/nvidia-driver-daemonset":"r1"},
              "version":"580.126.20","fields":{"version":"580.126.20"}},
        "rejected":[{"revisions":{"gpu-operator/nvidia-driver-daemonset":"r1"},
                     "version":"580.126.20","fields":{"version":"580.126.20"}}],
        "waves":[{"name":"canary"},{"name":"tenth"},{"name":"rest"}],
        "openFor":{"revisions":{"gpu-operator/nvidia-driver-daemonset":"r1"}}}})"));
    fleet.api.intercept = [this](const kube::Request& request) -> std::optional<kube::Reply> {
      bool is_restore = request.verb == kube::Verb::patch && request.type == cluster_policies;
      if (!is_restore) return std::nullopt;
      ++patches;
      if (!forbidden) return std::nullopt;
      return kube::status_answer(403, "Forbidden", "clusterpolicies is forbidden");
    };
    fleet.start();
    controller.emplace(fleet.api, fleet.loop, fleet.random, fleet.log, *fleet.watch,
                       RolloutOptions{});
    controller->start();
    controller->lead();
  }
  rollout::RolloutStatus status() {
    return rollout::read_rollout_status(*fleet.api.objects(fleet::driver_rollouts).at(key));
  }
  std::string version() {
    const Document policy = fleet.api.objects(cluster_policies).at({"", "cluster-policy"});
    return std::string(text_at(*policy, "spec", "driver", "version"));
  }

  ObjectKey key{"", "driver"};
  bool forbidden = true;
  int patches = 0;
  WatchedFleet fleet{with_rollouts()};
  std::optional<RolloutController> controller;
};

TEST_F(RolloutControllerTest, ARefusedRestoreIsShownAndTriedAgainLessAndLessOften) {
  fleet.loop.run_for(minutes(1));
  EXPECT_EQ(status().reason, "RevertRefused");
  EXPECT_NE(status().message.find("is forbidden"), std::string::npos) << status().message;
  EXPECT_EQ(status().phase, rollout::Phase::rolling_back);
  fleet.loop.run_for(hours(1));
  EXPECT_GE(patches, 10);
  EXPECT_LE(patches, 20);
  forbidden = false;
  fleet.loop.run_for(minutes(10));
  EXPECT_EQ(version(), "570-corp");
  EXPECT_TRUE(status().restored);
  EXPECT_EQ(status().reason, "Reverting");
}

TEST_F(RolloutControllerTest, TheObjectIsRestoredOnce) {
  forbidden = false;
  fleet.loop.run_for(hours(1));
  EXPECT_EQ(version(), "570-corp");
  EXPECT_EQ(patches, 1);
}

// One without it that arrives late would send a node that has begun back into the line.
TEST_F(RolloutControllerTest, ARetryIsWrittenOnTheVersionThatWasDecidedOn) {
  std::vector<std::string> versions;
  fleet.api.intercept = [&](const kube::Request& request) -> std::optional<kube::Reply> {
    bool is_retry = request.verb == kube::Verb::patch && request.type == resource::nodes;
    if (is_retry) {
      versions.emplace_back(text_at(*request.body, "metadata", "resourceVersion"));
    }
    return std::nullopt;
  };
  fleet.add_state("gpu-1", fleet::State::failed);
  Json rollout = *fleet.api.objects(fleet::driver_rollouts).at(key);
  apply_merge_patch(rollout, json_of(R"({
      "metadata":{"annotations":{"lockstep.dev/command":"{\"verb\":\"retry\",\"by\":\"ann\"}"}},
      "status":{"phase":"Held","reason":"RollbackFailed","message":"1 failed"}})"));
  const Document node = fleet.put(resource::nodes, {"", "gpu-1"},
                                  *fleet.api.objects(resource::nodes).at({"", "gpu-1"}));
  fleet.put(fleet::driver_rollouts, key, std::move(rollout));
  fleet.loop.run_for(minutes(1));
  ASSERT_FALSE(versions.empty());
  EXPECT_EQ(versions.front(), text_at(*node, "metadata", "resourceVersion"));
}

// Git as a test says: for each repository an error, or none.
struct SaidMatrix final : MatrixStore {
  explicit SaidMatrix(Loop& loop_in) : loop(loop_in) {}
  std::string obstacle(const rollout::RolloutSpec&) const override { return {}; }
  void commit(MatrixCommit commit, std::function<void(Result<std::string>)> done) override {
    asked.push_back(commit.place.repository);
    loop.after(milliseconds(1), scope.bind([this, repository = asked.back(), done] {
      const std::string& error = errors[repository];
      done(error.empty() ? Result<std::string>(std::string(no_commit))
                         : fail(ErrorKind::conflict, error));
    }));
  }

  Loop& loop;
  std::map<std::string, std::string> errors;
  std::vector<std::string> asked;
  Scope scope;
};

// An answer about one repository counts for no other.
TEST(RolloutControllerGit, ACheckIsOfTheRepositoryThatTheSpecNamesNow) {
  FleetWatchOptions with_rollouts;
  with_rollouts.rollouts.enabled = true;
  WatchedFleet fleet(with_rollouts);
  fleet.add_usual();
  const ObjectKey key{"", "driver"};
  fleet.put(fleet::driver_rollouts, key, json_of(R"({
      "apiVersion":"lockstep.dev/v1alpha1","kind":"DriverRollout","metadata":{"name":"driver"},
      "spec":{"driver":{"kind":"ClusterPolicy","name":"cluster-policy"},
              "matrix":{"repo":"https://one.example.com/x"}},
      "status":{"phase":"Pending","phaseSince":"2026-01-01T00:00:00Z",
        "stable":{"revisions":{"gpu-operator/nvidia-driver-daemonset":"r0"},"version":"570"}}})"));
  fleet.start();
  SaidMatrix matrix(fleet.loop);
  matrix.errors["https://one.example.com/x"] = "firmware 28.42 comes with it";
  matrix.errors["https://two.example.com/x"] = "there is no such branch";
  RolloutOptions options;
  options.git = &matrix;
  RolloutController controller(fleet.api, fleet.loop, fleet.random, fleet.log, *fleet.watch,
                               options);
  controller.start();
  controller.lead();
  auto name = [&](const std::string& repository) {
    fleet.put(fleet::driver_rollouts, key,
              merged(*fleet.api.objects(fleet::driver_rollouts).at(key),
                     fmt::format(R"({{"spec":{{"matrix":{{"repo":"{}"}}}}}})", repository)));
    fleet.loop.run_for(seconds(3));
  };
  fleet.loop.run_for(seconds(3));
  EXPECT_EQ(matrix.asked, std::vector<std::string>{"https://one.example.com/x"});
  name("https://two.example.com/x");
  name("https://three.example.com/x");
  EXPECT_EQ(matrix.asked,
            (std::vector<std::string>{"https://one.example.com/x", "https://two.example.com/x",
                                      "https://three.example.com/x"}))
      << "each at once, and none again";
}

}  // namespace
}  // namespace lockstep::controller::rollout_controller_test

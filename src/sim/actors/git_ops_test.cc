#include "sim/actors/git_ops.h"

#include <gtest/gtest.h>

#include "sim/actors/sim_test_util.h"

namespace lockstep::sim::git_ops_test {
namespace {

std::string matrix(const std::string& driver) {
  return "versions:\n  current: {driver: \"" + driver + "\"}\n";
}

const std::string policy_manifest =
    "apiVersion: nvidia.com/v1\nkind: ClusterPolicy\nmetadata: {name: cluster-policy}\n"
    "spec:\n  driver: {version: \"${current.driver}\"}\n";

struct Synced {
  explicit Synced(GitOpsOptions options = {})
      : cluster(fleet_of(1)),
        repository(cluster.loop),
        gitops(Parts{cluster.api("gitops"), cluster.loop, cluster.random, log}, repository,
               std::move(options)) {
    EXPECT_TRUE(cluster.start());
    first = repository.commit({{"gpu-version-matrix.yaml", matrix(old_version)},
                               {"manifests/policy.yaml", policy_manifest},
                               {"README.md", "${not.read}"}},
                              "first");
    gitops.start();
    cluster.loop.run_for(minutes(1));
  }

  std::string version() {
    return std::string(text_at(*cluster.get(cluster_policies, {"", "cluster-policy"}), "spec",
                               "driver", "version"));
  }

  Cluster cluster;
  SilentLog log;
  MemoryRepository repository;
  GitOps gitops;
  std::string first;
};

TEST(GitOps, ACommitReachesTheClusterWithTheNextLookAndSoDoesItsRevert) {
  Synced synced;
  EXPECT_EQ(synced.gitops.synced_revision(), synced.first);
  const std::string commit =
      synced.repository.commit({{"gpu-version-matrix.yaml", matrix(new_version)}}, "promote");
  synced.cluster.loop.run_for(seconds(30));
  EXPECT_EQ(synced.version(), old_version) << "nobody has looked yet";
  synced.cluster.loop.run_for(minutes(4));
  EXPECT_EQ(synced.version(), new_version);
  EXPECT_EQ(synced.gitops.synced_revision(), commit);

  ASSERT_TRUE(synced.repository.revert(commit));
  synced.cluster.loop.run_for(minutes(4));
  EXPECT_EQ(synced.version(), old_version);
  EXPECT_FALSE(synced.gitops.trouble());
}

TEST(GitOps, WhatAPersonChangesInTheClusterIsPutBack) {
  Synced synced;
  ASSERT_TRUE(synced.cluster.set_driver_version("999.1"));
  EXPECT_EQ(synced.version(), "999.1");
  synced.cluster.loop.run_for(minutes(1));
  EXPECT_EQ(synced.version(), old_version);
  EXPECT_EQ(synced.gitops.healed(), 1);
}

TEST(GitOps, WithoutSelfHealingAPersonsChangeStays) {
  Synced synced(GitOpsOptions{.self_heal = false});
  ASSERT_TRUE(synced.cluster.set_driver_version("999.1"));
  synced.cluster.loop.run_for(minutes(10));
  EXPECT_EQ(synced.version(), "999.1");
}

TEST(GitOps, ARevisionThatCannotBeReadChangesNothingUntilItIsMended) {
  Synced synced;
  for (const GitFiles& bad : std::vector<GitFiles>{
           {{"gpu-version-matrix.yaml", "versions: [\n"}},
           {{"gpu-version-matrix.yaml", "versions:\n  current: {cuda: \"13\"}\n"}},
           {{"manifests/policy.yaml", "kind: Pod\napiVersion: v1\n"}}}) {
    synced.repository.commit(bad, "bad");
    synced.cluster.loop.run_for(minutes(4));
    EXPECT_TRUE(synced.gitops.trouble()) << bad.begin()->second;
    EXPECT_EQ(synced.version(), old_version);
    EXPECT_EQ(synced.gitops.synced_revision(), synced.first);
  }
  const std::string mended =
      synced.repository.commit({{"gpu-version-matrix.yaml", matrix(new_version)},
                                {"manifests/policy.yaml", policy_manifest}},
                               "mended");
  synced.cluster.loop.run_for(minutes(4));
  EXPECT_EQ(synced.gitops.synced_revision(), mended);
  EXPECT_EQ(synced.version(), new_version);
}

TEST(GitOps, ARepositoryThatDoesNotAnswerIsAskedAgain) {
  Synced synced;
  synced.repository.set_unreachable(true);
  synced.repository.commit({{"gpu-version-matrix.yaml", matrix(new_version)}}, "promote");
  synced.cluster.loop.run_for(minutes(10));
  EXPECT_TRUE(synced.gitops.trouble());
  EXPECT_EQ(synced.version(), old_version);
  synced.repository.set_unreachable(false);
  synced.cluster.loop.run_for(minutes(4));
  EXPECT_EQ(synced.version(), new_version);
  EXPECT_FALSE(synced.gitops.trouble());
}

TEST(GitOps, ValuesOfTheMatrixAreFilledIn) {
  EXPECT_EQ(fill_in("a: ${current.driver}!", matrix("5"), "m").value(), "a: 5!");
  EXPECT_EQ(fill_in("plain", "", "m").value(), "plain");
  for (const char* bad : {"${current.cuda}", "${driver}", "${other.driver}", "${current.driver"}) {
    EXPECT_FALSE(fill_in(bad, matrix("5"), "m")) << bad;
  }
}

TEST(GitOps, OnlyWhatGitSaysIsCompared) {
  auto json = [](const char* text) { return parse_json(text).value(); };
  EXPECT_TRUE(has_all(json(R"({"a":{"b":1,"c":2},"d":3})"), json(R"({"a":{"b":1}})")));
  EXPECT_FALSE(has_all(json(R"({"a":{"b":2}})"), json(R"({"a":{"b":1}})")));
  EXPECT_FALSE(has_all(json(R"({"a":{}})"), json(R"({"a":{"b":1}})")));
  EXPECT_FALSE(has_all(json(R"({"a":[1]})"), json(R"({"a":[1,2]})")));
}

}  // namespace
}  // namespace lockstep::sim::git_ops_test

// With leader election one of several controllers works. One that ends gives its place free at
// once; one that is killed is followed when its lease is over.
#include <csignal>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cluster.h"

namespace lockstep::commands::leader_test {
namespace {

struct Leaders : ::testing::Test {
  void SetUp() override {
    cluster.serve();
    cluster.add_fleet(3, 200);
  }

  bool leads(const Child& child) { return cluster.metric(child, "lockstep_leader") == "1"; }

  std::string holder() {
    Json lease = cluster.get(resource::leases, "lockstep-controller", "lockstep-system");
    return std::string(text_at(lease, "spec", "holderIdentity"));
  }

  bool ends(Child& child) {
    return cluster.wait([&] { return child.exit_code().has_value(); });
  }

  Cluster cluster;
};

TEST_F(Leaders, OneLeadsAndAnotherFollowsWhenItEndsOrIsKilled) {
  Child& first = cluster.start_controller("first");
  ASSERT_TRUE(cluster.wait([&] { return leads(first); }));
  std::string held_by_first = holder();
  ASSERT_NE(held_by_first, "");
  Child& second = cluster.start_controller("second");
  ASSERT_TRUE(cluster.wait([&] {
    return http_get(cluster.status_port(second), "/readyz").find("200 OK") != std::string::npos;
  }));
  EXPECT_FALSE(leads(second));

  first.signal(SIGTERM);
  ASSERT_TRUE(ends(first));
  EXPECT_EQ(first.exit_code(), 0);
  // It did not leave its name behind: the next leader does not have to wait for the lease.
  EXPECT_NE(holder(), held_by_first);
  ASSERT_TRUE(cluster.wait([&] { return leads(second); }));
  std::string held_by_second = holder();
  EXPECT_NE(held_by_second, "");

  Child& third = cluster.start_controller("third");
  ASSERT_TRUE(cluster.wait([&] {
    return http_get(cluster.status_port(third), "/readyz").find("200 OK") != std::string::npos;
  }));
  second.signal(SIGKILL);
  ASSERT_TRUE(ends(second));
  EXPECT_EQ(holder(), held_by_second);
  EXPECT_FALSE(leads(third));
  cluster.set_version("580.126.20");
  ASSERT_TRUE(cluster.wait([&] { return leads(third); }));
  EXPECT_NE(holder(), held_by_second);
  // What changed without a leader is not lost.
  EXPECT_TRUE(cluster.wait([&] { return cluster.is_everyone("upgrade-done", "580.126.20"); }));
}

}  // namespace
}  // namespace lockstep::commands::leader_test

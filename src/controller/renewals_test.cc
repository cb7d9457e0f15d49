#include "controller/renewals.h"

#include <gtest/gtest.h>

namespace lockstep::controller::renewals_test {
namespace {

using Uids = std::vector<Text>;

Pod pod_of_plugin(std::string_view uid) {
  Pod pod;
  pod.meta.ns = "nvidia-dra-driver";
  pod.meta.name = Text(uid);
  pod.meta.uid = Text(uid);
  pod.meta.owners = {{"apps/v1", "DaemonSet", "plugin", "uid-plugin-set", true}};
  return pod;
}

// A node with a ready driver, and pods of one DaemonSet.
class RenewalsTest : public ::testing::Test {
 protected:
  RenewalsTest() {
    node_->meta.name = "gpu-1";
    set.meta.uid = "uid-plugin-set";
    driver.meta.uid = "driver-1";
    driver.ready = true;
    driver.ready_since = Time::from_unix(1000);
  }

  fleet::NodeView view(const std::vector<Pod>& pods) const {
    fleet::NodeView made;
    made.node = node_;
    made.driver.pod = std::make_shared<const Pod>(driver);
    for (const Pod& pod : pods) {
      made.pods.push_back({std::make_shared<const Pod>(pod), false, {}, {}, {}});
    }
    return made;
  }
  // The pod was there, and goes.
  void remove(const Pod& pod, const std::vector<Pod>& there) {
    auto renewal = Renewals::of(view(there), pod, &set);
    ASSERT_TRUE(renewal);
    renewals.add(*renewal);
  }
  Uids renewed(const std::vector<Pod>& pods) const {
    fleet::NodeView told = view(pods);
    renewals.tell(told);
    return told.known.renewed;
  }

  std::shared_ptr<Node> node_ = std::make_shared<Node>();
  DaemonSet set;
  Pod driver;
  Renewals renewals;
  const Pod old_ = pod_of_plugin("old");
  const Pod next_ = pod_of_plugin("next");
};

TEST_F(RenewalsTest, WhatComesInThePlaceOfARemovedPodIsNew) {
  EXPECT_EQ(renewed({next_}), Uids{});
  remove(old_, {old_});
  EXPECT_EQ(renewed({old_}), Uids{}) << "the removed one itself, on its way out";
  EXPECT_EQ(renewed({old_, next_}), (Uids{"next"}));
}

TEST_F(RenewalsTest, APodOfTheSameDaemonSetThatWasThereAtThatTimeIsNotNew) {
  remove(old_, {old_, next_});
  EXPECT_EQ(renewed({next_}), Uids{});
}

TEST_F(RenewalsTest, APodOfAnotherDaemonSetIsNotNew) {
  remove(old_, {old_});
  Pod other = next_;
  other.meta.owners[0].uid = "uid-another-set";
  EXPECT_EQ(renewed({other}), Uids{});
}

TEST_F(RenewalsTest, ADriverThatBecameReadyAnewKnowsOfNobody) {
  remove(old_, {old_});
  driver.ready_since = Time::from_unix(1001);
  EXPECT_EQ(renewed({next_}), Uids{});
  driver.ready_since = Time::from_unix(1000);
  driver.meta.uid = "driver-2";
  EXPECT_EQ(renewed({next_}), Uids{});
  driver.meta.uid = "driver-1";
  driver.ready = false;
  EXPECT_EQ(renewed({next_}), Uids{});
  driver.ready = true;
  EXPECT_EQ(renewed({next_}), (Uids{"next"}));
}

TEST_F(RenewalsTest, BeforeTheDriverIsReadyARemovalSaysNothing) {
  driver.ready = false;
  EXPECT_FALSE(Renewals::of(view({old_}), old_, &set));
}

// The next pod may have been made before the removed one was gone.
TEST_F(RenewalsTest, ADaemonSetThatSurgesSaysNothing) {
  set.max_surge = IntOrPercent::count(1);
  EXPECT_FALSE(Renewals::of(view({old_}), old_, &set));
  set.max_surge = IntOrPercent::count(0);
  EXPECT_TRUE(Renewals::of(view({old_}), old_, &set));
}

TEST_F(RenewalsTest, ADaemonSetThatIsNotKnownSaysNothing) {
  EXPECT_FALSE(Renewals::of(view({old_}), old_, nullptr));
  set.meta.uid = "uid-made-anew";
  EXPECT_FALSE(Renewals::of(view({old_}), old_, &set));
}

TEST_F(RenewalsTest, AreForgottenWithTheUpgrade) {
  remove(old_, {old_});
  renewals.forget();
  EXPECT_EQ(renewed({next_}), Uids{});
}

}  // namespace
}  // namespace lockstep::controller::renewals_test

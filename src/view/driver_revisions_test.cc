#include "view/driver_revisions.h"

#include <gtest/gtest.h>

#include "view/watched_fleet_test_util.h"

namespace lockstep::view::driver_revisions_test {
namespace {

const std::string set_name = std::string(operator_ns) + "/" + std::string(driver_set);

TEST(DriverRevisions, AreTheNewestAndTheOneBefore) {
  WatchedFleet fleet;
  fleet.add_usual();
  fleet.add_revision("r2", 2);
  fleet.start();
  auto revisions = fleet.watch->revisions_of(set_name);
  ASSERT_TRUE(revisions);
  EXPECT_EQ(revisions->newest, "r2");
  EXPECT_EQ(revisions->previous, "r1");
  EXPECT_FALSE(fleet.watch->revisions_of("elsewhere/" + std::string(driver_set)));
  EXPECT_FALSE(fleet.watch->revisions_of("no name of an object"));
}

// A tenant may name the DaemonSet as its owner.
TEST(DriverRevisions, OfOtherNamespacesDoNotCount) {
  WatchedFleet fleet;
  fleet.add_usual();
  fleet.put(resource::controller_revisions, {"tenant", "driver-r9"},
            revision_json(driver_set, "uid-" + std::string(driver_set), "r9", 9));
  fleet.start();
  auto revisions = fleet.watch->revisions_of(set_name);
  ASSERT_TRUE(revisions);
  EXPECT_EQ(revisions->newest, "r1");
  EXPECT_EQ(fleet.view().driver.newest_revision, "r1");
}

// The pod was made later than the newest revision that is shown, of one that is not shown.
TEST(DriverRevisions, AreNotKnownWhileAPodIsOfALaterOne) {
  WatchedFleet fleet;
  fleet.add_usual();
  Json revision = revision_json(driver_set, "uid-" + std::string(driver_set), "r1", 1);
  apply_merge_patch(revision,
                    json_of(R"({"metadata":{"creationTimestamp":"2026-01-01T00:00:00Z"}})"));
  fleet.put(resource::controller_revisions,
            {std::string(operator_ns), std::string(driver_set) + "-r1"}, std::move(revision));
  fleet.start();
  EXPECT_EQ(fleet.view().driver.newest_revision, "r1");
  fleet.add_driver("driver-1", "gpu-1", "r2",
                   R"({"metadata":{"creationTimestamp":"2026-01-02T00:00:00Z"}})");
  fleet.settle();
  EXPECT_EQ(fleet.view().driver.newest_revision, "");
}

}  // namespace
}  // namespace lockstep::view::driver_revisions_test

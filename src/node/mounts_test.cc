#include "node/mounts.h"

#include <gtest/gtest.h>

namespace lockstep::node::mounts_test {
namespace {

constexpr std::string_view table =
    R"(22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
61 22 0:23 /nvidia /run/nvidia rw,nosuid shared:5 - tmpfs tmpfs rw
90 61 0:60 / /run/nvidia/driver rw,relatime shared:50 - overlay overlay rw
91 90 0:61 / /run/nvidia/driver/proc rw - proc proc rw
92 90 0:62 / /run/nvidia/driver/mnt/with\040space\134 rw - tmpfs tmpfs rw
93 61 0:63 / /run/nvidia/driver-of-another rw - tmpfs tmpfs rw
94 90 0:60 / /run/nvidia/driver rw,relatime - overlay overlay rw
)";

TEST(Mounts, TheDriversRootIsUndoneFromTheLastMountToTheFirst) {
  auto targets = parse_mount_targets(table);
  ASSERT_TRUE(targets) << targets.error().text();
  EXPECT_EQ(targets->size(), 7u);
  EXPECT_EQ(mounts_under(*targets, "/run/nvidia/driver"),
            (std::vector<std::string>{"/run/nvidia/driver", "/run/nvidia/driver/mnt/with space\\",
                                      "/run/nvidia/driver/proc", "/run/nvidia/driver"}));
}

TEST(Mounts, WhereNothingIsMountedNothingIsUndone) {
  auto targets = parse_mount_targets(table);
  ASSERT_TRUE(targets);
  EXPECT_TRUE(mounts_under(*targets, "/run/nvidia/driv").empty());
  EXPECT_TRUE(mounts_under({}, "/run/nvidia/driver").empty());
}

TEST(Mounts, ABackslashThatIsNoEscapeStays) {
  auto targets = parse_mount_targets("1 2 3 / /a\\9x\\04 rw");
  ASSERT_TRUE(targets);
  EXPECT_EQ(targets->at(0), "/a\\9x\\04");
}

TEST(Mounts, AnotherTextIsRefusedByItsLine) {
  auto targets = parse_mount_targets("1 2 3 / / rw\nnonsense\n");
  ASSERT_FALSE(targets);
  EXPECT_EQ(targets.error().place, "line 2");
  EXPECT_FALSE(parse_mount_targets("1 2 3 / relative rw"));
}

}  // namespace
}  // namespace lockstep::node::mounts_test

#include "node/modules.h"

#include <gtest/gtest.h>

namespace lockstep::node::modules_test {
namespace {

// As a machine with everything that there is: graphics, peer memory, storage, and two modules of
// the kernel's own that only sound alike.
constexpr std::string_view everything = R"(nvidia_drm 126976 0 - Live 0xffffffffc2a00000 (POE)
nvidia_modeset 1560576 1 nvidia_drm, Live 0xffffffffc2800000 (POE)
nvidia_uvm 4956160 2 - Live 0xffffffffc2300000 (POE)
nvidia_peermem 16384 0 - Live 0xffffffffc22f0000 (POE)
nvidia_fs 323584 0 - Live 0xffffffffc22a0000 (OE)
gdrdrv 36864 0 - Live 0xffffffffc2290000 (OE)
nvidia 104165376 9 nvidia_modeset,nvidia_uvm,nvidia_peermem,nvidia_fs,gdrdrv, Live 0xffffffffbc000000 (POE)
nvidia_wmi_ec_backlight 16384 0 - Live 0x0000000000000000
ib_uverbs 188416 3 nvidia_peermem,rdma_ucm,mlx5_ib, Live 0xffffffffc1000000
)";

TEST(Modules, ReadWhatTheKernelLists) {
  auto modules = parse_modules(everything);
  ASSERT_TRUE(modules) << modules.error().text();
  ASSERT_EQ(modules->size(), 9u);
  EXPECT_EQ(modules->at(1), (KernelModule{"nvidia_modeset", 1, {"nvidia_drm"}}));
  EXPECT_EQ(modules->at(2), (KernelModule{"nvidia_uvm", 2, {}}));
}

TEST(Modules, EachIsUnloadedAfterThoseThatStandOnIt) {
  auto modules = parse_modules(everything);
  ASSERT_TRUE(modules);
  EXPECT_EQ(unload_order(*modules),
            (std::vector<std::string>{"gdrdrv", "nvidia_fs", "nvidia_drm", "nvidia_modeset",
                                      "nvidia_peermem", "nvidia_uvm", "nvidia"}));
}

TEST(Modules, WhatProcessesHoldIsToldFromWhatModulesHold) {
  auto modules = parse_modules(everything);
  ASSERT_TRUE(modules);
  EXPECT_EQ(busy_modules(*modules), (std::vector<std::string>{"nvidia_uvm (2)", "nvidia (4)"}));
}

TEST(Modules, NothingIsUnloadedWhereNoDriverIs) {
  auto modules =
      parse_modules("nvidia_wmi_ec_backlight 16384 0 - Live 0x0\nnouveau 1 0 - Live 0x0\n");
  ASSERT_TRUE(modules);
  EXPECT_TRUE(unload_order(*modules).empty());
  EXPECT_TRUE(busy_modules(*modules).empty());
  EXPECT_TRUE(unload_order(*parse_modules("")).empty());
}

TEST(Modules, AKernelThatCannotUnloadIsReadAsWell) {
  auto modules = parse_modules("nvidia 1 - - Live 0x0\nfoo 1 1 [permanent], Live 0x0\n");
  ASSERT_TRUE(modules);
  EXPECT_EQ(modules->at(0), (KernelModule{"nvidia", 0, {}}));
  EXPECT_EQ(modules->at(1), (KernelModule{"foo", 1, {}}));
}

TEST(Modules, ACircleEnds) {
  EXPECT_EQ(unload_order({{"nvidia", 1, {"a"}}, {"a", 1, {"nvidia"}}}),
            (std::vector<std::string>{"a", "nvidia"}));
}

TEST(Modules, AnotherTextIsRefusedByItsLine) {
  auto cut = parse_modules("nvidia 1 0 - Live\nnvidia_uvm 4956\n");
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().place, "line 2");
  EXPECT_FALSE(parse_modules("nvidia 1 many - Live"));
}

}  // namespace
}  // namespace lockstep::node::modules_test

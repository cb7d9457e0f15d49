#include "gpu/rdma.h"

#include "gpu/fake_test_util.h"

namespace lockstep::gpu::rdma_test {
namespace {

TEST(Rdma, PortsAreReadWithStateRateCountersAndTheirDevice) {
  FakeRoot root;
  const std::string port = "sys/class/infiniband/mlx5_0/ports/1/";
  root.write(port + "state", "4: ACTIVE\n");
  root.write(port + "phys_state", "5: LinkUp\n");
  root.write(port + "rate", "400 Gb/sec (4X NDR)\n");
  root.write(port + "counters/link_downed", "2\n");
  root.write("sys/class/infiniband_verbs/uverbs0/ibdev", "mlx5_0\n");
  root.write("dev/infiniband/uverbs0", "");
  const Json ports = rdma_ports(root.path);
  const Json* facts = find(ports, "mlx5_0/1");
  ASSERT_NE(facts, nullptr);
  EXPECT_EQ(text_at(*facts, "state"), "ACTIVE");
  EXPECT_EQ(text_at(*facts, "phys_state"), "LinkUp");
  EXPECT_EQ(find(*facts, "gigabits_per_second")->as_double(), 400);
  EXPECT_EQ(as_integer(find(*facts, "link_downed")), 2);
  EXPECT_TRUE(as_bool(find(*facts, "uverbs_there")));
}

TEST(Rdma, AnEfaDeviceIsKnownByItsDriverAndJudgedByItsCarrier) {
  FakeRoot root;
  root.write("sys/class/infiniband/rdmap0s6/ports/1/state", "4: ACTIVE\n");
  root.write("sys/class/infiniband/rdmap0s6/device/net/eth1/carrier", "0\n");
  std::filesystem::create_symlink("../../../../bus/pci/drivers/efa",
                                  root.path + "/sys/class/infiniband/rdmap0s6/device/driver");
  const Json ports = rdma_ports(root.path);
  EXPECT_TRUE(as_bool(find(ports, "rdmap0s6/1", "efa")));
  ASSERT_NE(find(ports, "rdmap0s6/1", "carrier"), nullptr);
  EXPECT_FALSE(as_bool(find(ports, "rdmap0s6/1", "carrier")));
}

TEST(Rdma, AMachineWithoutHasNoPorts) {
  FakeRoot root;
  EXPECT_TRUE(rdma_ports(root.path).empty());
}

TEST(Rdma, ARateThatIsNoNumberIsNotInvented) {
  FakeRoot root;
  root.write("sys/class/infiniband/mlx5_0/ports/1/rate", "unknown\n");
  EXPECT_EQ(find(Json(rdma_ports(root.path)), "mlx5_0/1", "gigabits_per_second"), nullptr);
}

}  // namespace
}  // namespace lockstep::gpu::rdma_test

#include "dra/sockets.h"

#include <gtest/gtest.h>

namespace lockstep::dra::sockets_test {
namespace {

const std::string kubelet = "/var/lib/kubelet";
const std::string driver = "gpu.lockstep.dev";
const std::string uid = "3a0c7a1e-6c5f-4d0c-9d2f-0c8c1a6f3b11";

TEST(Sockets, OneInstanceHasThePlainNames) {
  auto paths = socket_paths(kubelet, driver, "");
  ASSERT_TRUE(paths);
  EXPECT_EQ(paths->registration, "/var/lib/kubelet/plugins_registry/gpu.lockstep.dev-reg.sock");
  EXPECT_EQ(paths->service, "/var/lib/kubelet/plugins/gpu.lockstep.dev/dra.sock");
}

TEST(Sockets, TwoInstancesHaveTheirOwn) {
  auto paths = socket_paths(kubelet, driver, uid);
  ASSERT_TRUE(paths);
  EXPECT_EQ(paths->registration,
            "/var/lib/kubelet/plugins_registry/gpu.lockstep.dev-" + uid + "-reg.sock");
  EXPECT_EQ(paths->service, "/var/lib/kubelet/plugins/gpu.lockstep.dev/dra-" + uid + ".sock");
  EXPECT_EQ(paths->state_folder, socket_paths(kubelet, driver, "")->state_folder)
      << "what they remember is shared";
}

TEST(Sockets, NoPathIsLongerThanTheKernelTakes) {
  for (size_t length = 1; length < 120; ++length) {
    std::string folder = "/" + std::string(length - 1, 'k');
    for (const std::string& instance : {std::string(), uid}) {
      auto paths = socket_paths(folder, driver, instance);
      if (!paths) {
        EXPECT_GT(length, 40u) << "there was room";
        continue;
      }
      EXPECT_LE(paths->registration.size(), 104u);
      EXPECT_LE(paths->service.size(), 104u);
      auto other = socket_paths(folder, driver, instance + "x");
      if (other) {
        EXPECT_NE(other->registration, paths->registration);
      }
    }
  }
}

TEST(Sockets, ANameThatLeadsElsewhereIsNone) {
  for (const char* name : {"", "../x", "a/b", ".."}) EXPECT_FALSE(socket_paths(kubelet, name, ""));
  EXPECT_FALSE(socket_paths(kubelet, driver, "../../x"));
}

}  // namespace
}  // namespace lockstep::dra::sockets_test

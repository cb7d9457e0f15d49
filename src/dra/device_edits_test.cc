#include "dra/device_edits.h"

#include <gtest/gtest.h>

namespace lockstep::dra::device_edits_test {
namespace {

Gpu gpu_three() {
  Gpu gpu;
  gpu.minor = 3;
  gpu.name = "gpu-3";
  gpu.uuid = "GPU-x";
  return gpu;
}

TEST(DeviceEdits, FilesLibrariesAndVariables) {
  EditSettings settings;
  settings.root = "/host";
  auto libraries = library_mounts(settings, "/host/usr/lib64",
                                  {"libcuda.so.1", "libcuda.so.580.1.2", "libcuda.so.570.9.9",
                                   "libnvidia-gpucomp.so.580.1.2", "other"},
                                  "580.1.2");
  ASSERT_EQ(libraries.size(), 3u) << "only those of this version";
  EXPECT_EQ(libraries[0].host_path, "/usr/lib64/libcuda.so.580.1.2") << "as the host calls it";
  EXPECT_EQ(libraries[0].container_path, "/usr/local/nvidia/lib64/libcuda.so.580.1.2");
  EXPECT_EQ(libraries[1].container_path, "/usr/local/nvidia/lib64/libcuda.so.1");
  EXPECT_EQ(libraries[2].container_path, "/usr/local/nvidia/lib64/libnvidia-gpucomp.so.580.1.2");
  GpuConfig config;
  config.environment["MINE"] = "1";
  CdiEdits edits = device_edits(settings, gpu_three(), "580.1.2", libraries, config);
  EXPECT_EQ(edits.environment,
            (std::vector<std::string>{"LOCKSTEP_GPU_3=GPU-x", "LOCKSTEP_DRIVER_VERSION=580.1.2",
                                      "NVIDIA_VISIBLE_DEVICES=void", "MINE=1"}));
  ASSERT_EQ(edits.device_nodes.size(), 3u);
  EXPECT_EQ(edits.device_nodes[0].path, "/dev/nvidia3");
  EXPECT_EQ(edits.device_nodes[0].host_path, "");
  EXPECT_EQ(edits.mounts, libraries);
}

TEST(DeviceEdits, ARootThatTheHostKnowsByAnotherName) {
  EditSettings settings;
  settings.root = "/node";
  settings.host_root = "/srv/fake";
  EXPECT_EQ(host_path(settings, "/node/dev/x"), "/srv/fake/dev/x");
  EXPECT_EQ(host_path(settings, "/nodes/dev/x"), "/nodes/dev/x") << "not below the root";
  CdiEdits edits = device_edits(settings, gpu_three(), "1", {}, {});
  EXPECT_EQ(edits.device_nodes[0].host_path, "/srv/fake/dev/nvidia3");
  EXPECT_EQ(host_path({}, "/dev/x"), "/dev/x");
}

}  // namespace
}  // namespace lockstep::dra::device_edits_test

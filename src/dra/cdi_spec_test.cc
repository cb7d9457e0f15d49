#include "dra/cdi_spec.h"

#include <gtest/gtest.h>

#include "dra/dra_test_util.h"

namespace lockstep::dra::cdi_spec_test {
namespace {

const CdiOptions options{"/cdi"};

CdiDevice gpu(const std::string& name = "gpu-0") {
  CdiDevice device;
  device.device = name;
  device.edits.environment = {"NVIDIA_VISIBLE_DEVICES=void"};
  device.edits.device_nodes = {{"/dev/nvidia0", "/host/dev/nvidia0"}, {"/dev/nvidiactl", ""}};
  device.edits.mounts = {
      {"/run/nvidia/driver/usr/lib/libcuda.so.1", "/usr/lib/libcuda.so.1", {"ro"}}};
  return device;
}

TEST(CdiSpec, IsAsRuntimesReadIt) {
  auto spec = make_cdi_spec(options, "uid-1", {gpu()});
  ASSERT_TRUE(spec) << spec.error().text();
  EXPECT_EQ(
      print_json(*spec),
      R"({"cdiVersion":"0.5.0","kind":"gpu.lockstep.dev/claim","devices":[{"name":"uid-1-gpu-0",)"
      R"("containerEdits":{"env":["NVIDIA_VISIBLE_DEVICES=void"],"deviceNodes":[)"
      R"({"path":"/dev/nvidia0","permissions":"rw","hostPath":"/host/dev/nvidia0"},)"
      R"({"path":"/dev/nvidiactl","permissions":"rw"}],"mounts":[{"hostPath":)"
      R"("/run/nvidia/driver/usr/lib/libcuda.so.1","containerPath":"/usr/lib/libcuda.so.1",)"
      R"("options":["ro"]}]}}]})");
  EXPECT_EQ(cdi_id(options, "uid-1", "gpu-0"), "gpu.lockstep.dev/claim=uid-1-gpu-0");
  EXPECT_EQ(cdi_file(options, "uid-1"), "/cdi/gpu.lockstep.dev-claim_uid-1.json");
}

TEST(CdiSpec, NamesThatLeadElsewhereAreRefused) {
  for (const char* name : {"", "..", ".", "../../etc/passwd", "a/b", "/abs", "a\\b", "a b", "-a",
                           "a-", "a..b", "a\nb", "a=b", "a,b", "*"}) {
    EXPECT_FALSE(check_device_name(name)) << name;
    EXPECT_FALSE(check_claim_uid(name)) << name;
    EXPECT_FALSE(make_cdi_spec(options, "uid", {gpu(name)})) << name;
    EXPECT_FALSE(make_cdi_spec(options, name, {gpu()})) << name;
    MemoryStateFiles disk;
    EXPECT_FALSE(write_cdi_spec(disk, options, name, {gpu()})) << name;
    EXPECT_FALSE(remove_cdi_spec(disk, options, name)) << name;
    EXPECT_TRUE(disk.contents.empty());
  }
  EXPECT_FALSE(check_device_name(std::string(129, 'a')));
  EXPECT_FALSE(check_device_name(std::string("a\0b", 3)));
  EXPECT_TRUE(check_device_name("gpu-0.mig_1:2"));
  EXPECT_TRUE(check_claim_uid("0ab12c3d-1111-2222-3333-444455556666"));
  EXPECT_FALSE(check_claim_uid("a.b")) << "a uid has no dots";
}

TEST(CdiSpec, AnEmptyDeviceIsNeverHandedOut) {
  CdiDevice empty;
  empty.device = "gpu-0";
  auto spec = make_cdi_spec(options, "uid", {gpu("gpu-1"), empty});
  ASSERT_FALSE(spec);
  EXPECT_EQ(spec.error().message, "device gpu-0 has nothing that a container could be given");
  EXPECT_FALSE(make_cdi_spec(options, "uid", {}));
}

TEST(CdiSpec, WhatIsWrongInsideIsRefusedByItsDevice) {
  CdiDevice device = gpu();
  device.edits.device_nodes = {{"dev/nvidia0", ""}};
  auto spec = make_cdi_spec(options, "uid", {device});
  ASSERT_FALSE(spec);
  EXPECT_EQ(spec.error().text(), "device gpu-0: \"dev/nvidia0\" is no path of a device node");
  device = gpu();
  device.edits.mounts[0].host_path = "/run/nvidia/driver/../../../etc/shadow";
  EXPECT_FALSE(make_cdi_spec(options, "uid", {device}));
  device = gpu();
  device.edits.mounts[0].container_path = "/..";
  EXPECT_FALSE(make_cdi_spec(options, "uid", {device}));
  device = gpu();
  device.edits.environment = {"=x"};
  EXPECT_FALSE(make_cdi_spec(options, "uid", {device}));
  EXPECT_FALSE(make_cdi_spec(options, "uid", {gpu(), gpu()})) << "twice";
}

TEST(CdiSpec, FilesOfTwoClaimsAreTwo) {
  MemoryStateFiles disk;
  ASSERT_TRUE(write_cdi_spec(disk, options, "one", {gpu()}));
  ASSERT_TRUE(write_cdi_spec(disk, options, "two", {gpu()}));
  EXPECT_EQ(disk.contents.size(), 2u);
  ASSERT_TRUE(write_cdi_spec(disk, options, "one", {gpu("gpu-7")}));
  EXPECT_NE(disk.contents[cdi_file(options, "one")].find("one-gpu-7"), std::string::npos);
  EXPECT_TRUE(remove_cdi_spec(disk, options, "one"));
  EXPECT_TRUE(remove_cdi_spec(disk, options, "one")) << "twice is fine";
  EXPECT_EQ(disk.contents.size(), 1u);
  CrashingFiles full(disk.files);
  full.refuse_writes = true;
  EXPECT_FALSE(write_cdi_spec(full, options, "three", {gpu()}));
}

}  // namespace
}  // namespace lockstep::dra::cdi_spec_test

#include "sim/dra.h"

#include <gtest/gtest.h>

namespace lockstep::sim {
namespace {

ResourceClaim claim_on(std::string_view device) {
  ResourceClaim claim;
  claim.meta.name = "work-gpu-1";
  claim.meta.uid = "8f3e";
  claim.devices.push_back({"gpu", dra_driver_name, "gpu-1", device, {}, false});
  return claim;
}

TEST(DraTest, AFailureCarriesTheSeedsMessage) {
  Machine machine("gpu-1", 8);
  machine.finish_load("1", "", Time::from_unix(1));
  NvmlHandle handle = machine.open_nvml();
  EXPECT_TRUE(prepare_claim(machine, &handle, claim_on("gpu-2")));
  machine.finish_load("2", "", Time::from_unix(2));
  auto stale = prepare_claim(machine, &handle, claim_on("gpu-2"));
  ASSERT_FALSE(stale);
  EXPECT_EQ(stale.error().message,
            "Failed to prepare dynamic resources: NodePrepareResources failed for ResourceClaim "
            "work-gpu-1: unable to create CDI spec file for claim: 8f3e: failed to initialize "
            "NVML: Driver/library version mismatch");
  handle.opened_in_migration = true;
  auto raced = prepare_claim(machine, &handle, claim_on("gpu-2"));
  ASSERT_FALSE(raced);
  EXPECT_NE(raced.error().message.find(
                "invalid CDI Spec: failed add device \"8f3e-gpu-2\": empty device edits"),
            std::string::npos);
}

TEST(DraTest, WithoutAPluginNothingIsPrepared) {
  Machine machine("gpu-1", 8);
  machine.finish_load("1", "", Time::from_unix(1));
  EXPECT_FALSE(prepare_claim(machine, nullptr, claim_on("gpu-2")));
  ResourceClaim other = claim_on("nic-1");
  other.devices[0].driver = "nic.example.com";
  EXPECT_TRUE(prepare_claim(machine, nullptr, other));
}

TEST(DraTest, ASliceTellsWhatThePluginSaw) {
  Machine machine("gpu-1", 2);
  machine.finish_load("580.1", "", Time::from_unix(1));
  Json slice = slice_object(machine, machine.open_nvml(), "node-uid", 4);
  const JsonArray& devices = slice.at("spec").at("devices").as_array();
  ASSERT_EQ(devices.size(), 2u);
  EXPECT_EQ(text_at(devices[1], "name"), "gpu-1");
  EXPECT_EQ(text_at(devices[1], "attributes", "driverVersion", "version"), "580.1.0");
  EXPECT_EQ(text_at(devices[1], "attributes", "uuid", "string"), machine.gpu_uuid(1));
  EXPECT_EQ(as_integer(find(slice, "spec", "pool", "generation")), 4);
}

TEST(DraTest, AVersionIsPublishedAsASemanticOne) {
  EXPECT_EQ(semantic_version("580.105.08"), "580.105.8");
  EXPECT_EQ(semantic_version("580.126.20"), "580.126.20");
  EXPECT_EQ(semantic_version("580.00.0"), "580.0.0");
  EXPECT_EQ(semantic_version("580"), "580.0.0");
}

TEST(DraTest, FailuresAreFoundByNodeAndTime) {
  Preparations preparations;
  preparations.add({"gpu-1", {"a", "b"}, "c", Time::from_unix(10), "bad"});
  preparations.add({"gpu-1", {"a", "b"}, "c", Time::from_unix(20), "bad"});
  preparations.add({"gpu-1", {"a", "b"}, "c", Time::from_unix(30), ""});
  preparations.add({"gpu-2", {"a", "d"}, "e", Time::from_unix(30), "bad"});
  EXPECT_EQ(preparations.failed("gpu-1"), 2u);
  EXPECT_EQ(preparations.succeeded("gpu-1"), 1u);
  EXPECT_EQ(preparations.failed_after("gpu-1", Time::from_unix(11)).size(), 1u);
  EXPECT_EQ(preparations.failed_after("gpu-1", Time::from_unix(10)).size(), 2u);
  EXPECT_TRUE(preparations.failed_after("gpu-3", Time::from_unix(0)).empty());
}

}  // namespace
}  // namespace lockstep::sim

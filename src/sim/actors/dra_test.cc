#include "sim/actors/dra.h"

#include <gtest/gtest.h>

namespace lockstep::sim::dra_test {
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
  const Json document = JsonObject{};
  EXPECT_EQ(prepare_claim(machine, &handle, claim_on("gpu-2"), document).error, "");
  machine.finish_load("2", "", Time::from_unix(2));
  PrepareAnswer stale = prepare_claim(machine, &handle, claim_on("gpu-2"), document);
  EXPECT_EQ(stale.error,
            "unable to create CDI spec file for claim: 8f3e: failed to initialize NVML: "
            "Driver/library version mismatch");
  EXPECT_FALSE(stale.permanent);
  handle.opened_in_migration = true;
  PrepareAnswer raced = prepare_claim(machine, &handle, claim_on("gpu-2"), document);
  EXPECT_NE(
      raced.error.find("invalid CDI Spec: failed add device \"8f3e-gpu-2\": empty device edits"),
      std::string::npos);
}

TEST(DraTest, OnlyThisDriversDevicesNeedItsPlugin) {
  Machine machine("gpu-1", 8);
  EXPECT_TRUE(needs_plugin(claim_on("gpu-2")));
  ResourceClaim other = claim_on("nic-1");
  other.devices[0].driver = "nic.example.com";
  EXPECT_FALSE(needs_plugin(other));
  EXPECT_EQ(prepare_claim(machine, nullptr, other, JsonObject{}).error, "");
}

TEST(DraTest, ParametersThatCannotBeReadAreAPermanentFailure) {
  Machine machine("gpu-1", 8);
  machine.finish_load("1", "", Time::from_unix(1));
  NvmlHandle handle = machine.open_nvml();
  auto document = parse_json(R"({"spec":{"devices":{"config":[{"opaque":{"driver":"gpu.nvidia.com",
      "parameters":{"kind":"GpuConfig","sharring":"x"}}}]}}})");
  ASSERT_TRUE(document);
  PrepareAnswer wrong = prepare_claim(machine, &handle, claim_on("gpu-2"), *document);
  EXPECT_TRUE(wrong.permanent);
  EXPECT_NE(wrong.error.find("unknown field \"sharring\""), std::string::npos) << wrong.error;
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
}  // namespace lockstep::sim::dra_test

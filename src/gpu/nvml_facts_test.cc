#include "gpu/nvml_facts.h"

#include "gpu/fake_test_util.h"

namespace lockstep::gpu::nvml_facts_test {
namespace {

struct Listed {
  explicit Listed(const std::string& scenario)
      : fake(scenario), nvml(*Nvml::open(fake.places, fake.reporter)) {
    auto list = list_gpus(nvml, fake.reporter);
    if (list)
      gpus = std::move(*list);
    else
      error = list.error();
  }
  FakeGpu fake;
  Nvml nvml;
  std::vector<NvmlGpu> gpus;
  std::optional<Error> error;
};

TEST(NvmlFacts, GpusAreListedByUuid) {
  Listed listed("gpus 2\n1.uuid GPU-other\nname NVIDIA H100 80GB HBM3\n");
  ASSERT_EQ(listed.gpus.size(), 2U);
  EXPECT_EQ(listed.gpus[0].uuid, "GPU-fake-0");
  EXPECT_EQ(listed.gpus[1].uuid, "GPU-other");
  EXPECT_EQ(as_text(listed.gpus[0].identity.if_contains("name")), "NVIDIA H100 80GB HBM3");
}

TEST(NvmlFacts, AMismatchIsAConflictAndNoDriverIsNotFound) {
  EXPECT_EQ(Listed("fail nvmlInit_v2 18\n").error->kind, ErrorKind::conflict);
  EXPECT_EQ(Listed("fail nvmlInit_v2 9\n").error->kind, ErrorKind::not_found);
  EXPECT_EQ(Listed("gpus 0\n").error->kind, ErrorKind::not_found);
  EXPECT_EQ(Listed("fail nvmlInit_v2 999\n").error->kind, ErrorKind::internal);
}

TEST(NvmlFacts, ASnapshotHasCountsLinksAndTheFabric) {
  Listed listed(
      "ecc_uncorrected_aggregate 3\nremap_pending 1\nrecovery_action 2\nfabric_state "
      "3\nfabric_clique 7\n");
  ASSERT_EQ(listed.gpus.size(), 1U);
  const Json snapshot = snapshot_of(listed.nvml, listed.gpus[0], {true, true});
  EXPECT_EQ(as_integer(find(snapshot, "ecc", "uncorrected_aggregate")), 3);
  EXPECT_TRUE(as_bool(find(snapshot, "ecc", "remapped_rows", "pending")));
  EXPECT_EQ(as_integer(find(snapshot, "ecc", "recovery_action")), 2);
  EXPECT_EQ(find(snapshot, "nvlink", "links")->as_array().size(), 18U);
  EXPECT_EQ(as_integer(find(snapshot, "nvlink", "fabric", "clique")), 7);
  EXPECT_EQ(find(snapshot, "errors"), nullptr);
}

TEST(NvmlFacts, AGpuThatDisappearsBetweenTwoCallsIsLost) {
  Listed listed("fail nvmlDeviceGetTotalEccErrors 15 2\n");
  ASSERT_EQ(listed.gpus.size(), 1U);
  const Json snapshot = snapshot_of(listed.nvml, listed.gpus[0], {true, false});
  EXPECT_TRUE(as_bool(find(snapshot, "lost")));
  EXPECT_NE(find(snapshot, "ecc", "corrected_volatile"), nullptr);
  EXPECT_EQ(find(snapshot, "ecc", "uncorrected_aggregate"), nullptr);
}

TEST(NvmlFacts, ClocksAreKeptWithTheirReasons) {
  Listed listed("throttle 0x48\n");
  ASSERT_EQ(listed.gpus.size(), 1U);
  ClockWatch watch;
  watch.sample(listed.nvml, listed.gpus[0]);
  watch.sample(listed.nvml, listed.gpus[0]);
  const Json facts = watch.facts();
  EXPECT_EQ(as_integer(find(facts, "samples")), 2);
  EXPECT_EQ(as_integer(find(facts, "reasons")), 0x48);
  EXPECT_EQ(as_integer(find(facts, "highest_clock_mhz")), 1980);
}

}  // namespace
}  // namespace lockstep::gpu::nvml_facts_test

#include <gtest/gtest.h>

#include "sim/actors/fleet_objects.h"

namespace lockstep::sim::workload_objects_test {
namespace {

TEST(WorkloadObjectsTest, OnlyWhatIsAskedFor) {
  EXPECT_TRUE(workload_requests({}).empty());
  WorkloadOptions options;
  options.deployment_replicas = 3;
  options.min_available = 2;
  auto requests = workload_requests(options);
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[0].type, resource::deployments);
  EXPECT_EQ(as_integer(find(*requests[0].body, "spec", "replicas")), 3);
  EXPECT_EQ(as_integer(find(*requests[1].body, "spec", "minAvailable")), 2);
}

TEST(WorkloadObjectsTest, AJobsPodsEndAfterTheirTime) {
  WorkloadOptions options;
  options.job_pods = 1;
  options.job_seconds = 77;
  auto requests = workload_requests(options);
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_EQ(text_at(*requests[0].body, "spec", "template", "metadata", "annotations",
                    "sim.lockstep.dev/run-seconds"),
            "77");
}

TEST(WorkloadObjectsTest, AClaimsTemplateComesBeforeItsPods) {
  WorkloadOptions options;
  options.claim_pods = 1;
  auto requests = workload_requests(options);
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[0].type.kind, "ResourceClaimTemplate");
}

}  // namespace
}  // namespace lockstep::sim::workload_objects_test

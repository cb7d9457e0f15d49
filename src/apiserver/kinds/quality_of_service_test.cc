#include "apiserver/kinds/quality_of_service.h"

#include <gtest/gtest.h>

#include "apiserver/schema/schema_test_util.h"

namespace lockstep::apiserver::quality_of_service_test {
namespace {

std::string_view of_containers(const std::string& containers) {
  return quality_of_service(json("{'spec':{'containers':[" + containers + "]}}"));
}

TEST(QualityOfService, FollowsRequestsAndLimits) {
  EXPECT_EQ(of_containers("{}"), "BestEffort");
  EXPECT_EQ(of_containers("{'resources':{'limits':{'nvidia.com/gpu':'1'}}}"), "BestEffort");
  EXPECT_EQ(of_containers("{'resources':{'requests':{'cpu':'0'}}}"), "BestEffort");
  EXPECT_EQ(of_containers("{'resources':{'requests':{'cpu':'1'}}}"), "Burstable");
  EXPECT_EQ(of_containers("{'resources':{'limits':{'cpu':'1'},'requests':{'cpu':'1'}}}"),
            "Burstable");
  const std::string both =
      "{'resources':{'limits':{'cpu':'1','memory':'1Gi'},"
      "'requests':{'cpu':'1000m','memory':'1024Mi'}}}";
  EXPECT_EQ(of_containers(both), "Guaranteed");
  EXPECT_EQ(of_containers(both + "," + both), "Guaranteed");
  EXPECT_EQ(of_containers(both + ",{}"), "Burstable");
  EXPECT_EQ(quality_of_service(json("{}")), "BestEffort");
}

TEST(QualityOfService, ThePodsOwnResourcesWin) {
  EXPECT_EQ(quality_of_service(json("{'spec':{'resources':{'requests':{'cpu':'1'}},"
                                    "'containers':[{}]}}")),
            "Burstable");
}

}  // namespace
}  // namespace lockstep::apiserver::quality_of_service_test

#include "upgrade/pod_names.h"

#include <gtest/gtest.h>

#include "upgrade/upgrade_test_util.h"

namespace lockstep::upgrade::pod_names_test {
namespace {

TEST(PodNames, APodIsNamedWithItsNamespace) {
  EXPECT_EQ(name_pod(make_pod("train-0")), "ml/train-0");
}

TEST(PodNames, AFewAreAllNamed) {
  EXPECT_EQ(name_pods({}), "");
  EXPECT_EQ(name_pods({share(make_pod("a"))}), "ml/a");
  EXPECT_EQ(name_pods({share(make_pod("a")), share(make_pod("b"))}), "ml/a, ml/b");
}

TEST(PodNames, OfManyTheRestIsCounted) {
  EXPECT_EQ(name_some({"a", "b", "c"}, 3), "a, b, c");
  EXPECT_EQ(name_some({"a", "b", "c"}, 2), "a, b and 1 more");
  std::vector<fleet::PodPtr> pods;
  for (int i = 0; i < 8; ++i) pods.push_back(share(make_pod("p" + std::to_string(i))));
  EXPECT_EQ(name_pods(pods), "ml/p0, ml/p1, ml/p2, ml/p3, ml/p4 and 3 more");
}

TEST(Counted, SaysOneAsOne) {
  EXPECT_EQ(counted(1, "pod"), "1 pod");
  EXPECT_EQ(counted(0, "pod"), "0 pods");
  EXPECT_EQ(counted(3, "GPU pod"), "3 GPU pods");
}

}  // namespace
}  // namespace lockstep::upgrade::pod_names_test

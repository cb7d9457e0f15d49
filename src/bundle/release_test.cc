#include "bundle/release.h"

#include <gtest/gtest.h>

namespace lockstep::bundle::release_test {
namespace {

TEST(ReleaseFolder, IsNumberedFromOneSoThatFilesSortInTheOrderOfDeployment) {
  Release release;
  release.name = "gpu-operator";
  EXPECT_EQ(release_folder(0, release), "001-gpu-operator");
  EXPECT_EQ(release_folder(11, release), "012-gpu-operator");
}

}  // namespace
}  // namespace lockstep::bundle::release_test

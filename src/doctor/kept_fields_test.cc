#include "doctor/kept_fields.h"

#include <set>

#include <gtest/gtest.h>

namespace lockstep::doctor::kept_fields_test {
namespace {

// What each kind needs at least to be of use, and that no path of a list leads to what is secret.
TEST(KeptFields, EveryKindHasItsNameAndNoneHasValuesOfVariables) {
  EXPECT_GE(kept_resources().size(), 15U);
  for (std::string_view resource : kept_resources()) {
    std::set<std::string> paths;
    for (const KeptPart& part : kept_parts(resource)) {
      for (const KeptField& field : part.fields) {
        const std::string path = std::string(part.at) + std::string(field.path);
        EXPECT_TRUE(paths.insert(path).second) << resource << " lists " << path << " twice";
        EXPECT_NE(field.shape, Shape::none) << path;
        for (const char* secret :
             {"env[].value", "command", "httpHeaders", "stringData", "webhook"}) {
          EXPECT_EQ(path.find(secret), std::string::npos) << resource << ": " << path;
        }
      }
    }
    EXPECT_TRUE(paths.contains("metadata.name")) << resource;
  }
  EXPECT_TRUE(kept_parts("secrets").empty());
}

TEST(KeptFields, LabelsByTheirDomain) {
  for (const char* key : {"nvidia.com/gpu.product", "lockstep.dev/rollout", "resource.nvidia.com/x",
                          "topology.kubernetes.io/zone", "app", "kubernetes.io/hostname"}) {
    EXPECT_TRUE(is_kept_label(key)) << key;
  }
  for (const char* key : {"evilnvidia.com/x", "nvidia.com.evil.example/x", "vault.example/token",
                          "owner", "kubernetes.io/other", ""}) {
    EXPECT_FALSE(is_kept_label(key)) << key;
  }
}

}  // namespace
}  // namespace lockstep::doctor::kept_fields_test

#include "objects/config_map.h"

#include <gtest/gtest.h>

#include "objects/decode_test_util.h"

namespace lockstep::config_map_test {
namespace {

TEST(ConfigMap, KeepsData) {
  ConfigMap map = decoded<ConfigMap>(R"({"metadata":{"name":"a"},"data":{"b":"line\nline","a":""},
    "binaryData":{"c":"AAAA"},"immutable":true})");
  EXPECT_EQ(map.data, (StringMap{{"a", ""}, {"b", "line\nline"}}));
  EXPECT_TRUE(map.immutable);
}

TEST(ConfigMap, DataMustBeText) {
  EXPECT_EQ(decode_error<ConfigMap>(R"({"metadata":{"name":"a"},"data":{"b":7}})").substr(0, 13),
            "ConfigMap a: ");
}

}  // namespace
}  // namespace lockstep::config_map_test

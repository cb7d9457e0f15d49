#include "bundle/names.h"

#include <gtest/gtest.h>

namespace lockstep::bundle::names_test {
namespace {

TEST(Names, MayBecomeADirectoryAndAnObject) {
  for (auto good : {"a", "gpu-operator", "k8s", "0a"}) EXPECT_TRUE(check_name(good)) << good;
  for (auto bad : {"", "..", "a/b", "-a", "a-", "A", "a b", "$(x)", "a.b", "\xc3\xa4"}) {
    EXPECT_FALSE(check_name(bad)) << bad;
  }
  EXPECT_TRUE(check_name(std::string(63, 'a')));
  EXPECT_FALSE(check_name(std::string(64, 'a')));
}

}  // namespace
}  // namespace lockstep::bundle::names_test

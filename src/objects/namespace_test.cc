#include "objects/namespace.h"

#include <gtest/gtest.h>

#include "objects/decode_test_util.h"

namespace lockstep::namespace_test {
namespace {

TEST(Namespace, KnowsWhetherItIsEnding) {
  EXPECT_FALSE(decoded<Namespace>(R"({"metadata":{"name":"a"},"status":{"phase":"Active"}})")
                   .is_terminating());
  EXPECT_TRUE(decoded<Namespace>(R"({"metadata":{"name":"a"},"status":{"phase":"Terminating"}})")
                  .is_terminating());
  EXPECT_TRUE(
      decoded<Namespace>(R"({"metadata":{"name":"a","deletionTimestamp":"2026-11-15T04:20:11Z"}})")
          .is_terminating());
}

}  // namespace
}  // namespace lockstep::namespace_test

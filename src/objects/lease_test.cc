#include "objects/lease.h"

#include <gtest/gtest.h>

#include "objects/decode_test_util.h"

namespace lockstep::lease_test {
namespace {

TEST(Lease, ComesBackFromItsJson) {
  Lease lease;
  lease.meta.name = "controller";
  lease.meta.ns = "lockstep";
  lease.meta.resource_version = "123456789";
  lease.holder = "controller-7d9f_1234";
  lease.duration_seconds = 15;
  lease.transitions = 3;
  lease.acquired = Time{1763180411123456000};
  lease.renewed = Time{1763180419000001000};
  std::string text = print_json(to_json(lease));
  EXPECT_EQ(decoded<Lease>(text), lease);
  EXPECT_NE(text.find(R"("apiVersion":"coordination.k8s.io/v1","kind":"Lease")"),
            std::string::npos);
  EXPECT_NE(text.find(".123456Z"), std::string::npos);
}

TEST(Lease, AnEmptyHolderIsWritten) {
  Lease lease;
  lease.meta.name = "a";
  EXPECT_EQ(print_json(*find(to_json(lease), "spec")),
            R"({"holderIdentity":"","leaseTransitions":0})");
}

TEST(Lease, NullAndUnknownFieldsAreFine) {
  Lease lease = decoded<Lease>(R"({"metadata":{"name":"a"},"spec":{"holderIdentity":null,
    "renewTime":null,"strategy":"OldestEmulationVersion"}})");
  EXPECT_TRUE(lease.holder.empty());
  EXPECT_FALSE(lease.renewed.is_set());
}

TEST(Lease, ABadTimeIsAnError) {
  EXPECT_EQ(
      decode_error<Lease>(R"({"metadata":{"namespace":"n","name":"a"},"spec":{"renewTime":"x"}})")
          .substr(0, 11),
      "Lease n/a: ");
}

}  // namespace
}  // namespace lockstep::lease_test

#include "cli/gate_guard.h"

#include <gtest/gtest.h>

namespace lockstep::cli::gate_guard_test {
namespace {

std::string refusal(const http::AddressGuard& guard, const char* address) {
  return guard.refusal("prometheus.example.com", IpAddress::parse(address).value());
}

// As the chart starts it.
TEST(GateGuard, RefusesTheControllersPodAndItsService) {
  ControllerFlags flags;
  flags.status_address = "[2001:db8::8]:9464";
  const auto guard = gate_guard(flags, {{"POD_IPS", "10.1.2.3,fd00::3"},
                                        {"POD_SERVICE", "lockstep-controller.lockstep-system"}});
  ASSERT_TRUE(guard) << guard.error().text();
  for (const char* own : {"10.1.2.3", "fd00::3", "2001:db8::8"}) {
    EXPECT_NE(refusal(*guard, own).find("the controller itself"), std::string::npos) << own;
  }
  EXPECT_NE(guard->refusal("lockstep-controller.lockstep-system.svc"), "");
  EXPECT_EQ(refusal(*guard, "10.1.2.4"), "");
}

TEST(GateGuard, AllowsWhatTheFlagNames) {
  ControllerFlags flags;
  flags.allow_gate_addresses = {"10.1.0.0/16", "lockstep-controller.lockstep-system.svc"};
  const auto guard = gate_guard(
      flags, {{"POD_IPS", "10.1.2.3"}, {"POD_SERVICE", "lockstep-controller.lockstep-system"}});
  ASSERT_TRUE(guard) << guard.error().text();
  EXPECT_EQ(refusal(*guard, "10.1.2.3"), "");
  EXPECT_EQ(guard->refusal("lockstep-controller.lockstep-system.svc"), "");
  flags.allow_gate_addresses = {"10.1.2.3:80"};
  const auto bad = gate_guard(flags, {});
  ASSERT_FALSE(bad);
  EXPECT_NE(bad.error().text().find("--allow-gate-addresses"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::cli::gate_guard_test

#include "http/address_guard.h"

#include <optional>

#include <gtest/gtest.h>

#include "http/client.h"
#include "http/scripted_server_test_util.h"

namespace lockstep::http::address_guard_test {
namespace {

using testing::ReceivedRequest;
using testing::ScriptedServer;
using testing::ServerConnection;

IpAddress address(const char* text) { return IpAddress::parse(text).value(); }

TEST(AddressGuard, RefusesWhatIsNoServiceOfTheNetwork) {
  const AddressGuard guard;
  for (const char* bad : {"127.0.0.1", "::1", "0.0.0.0", "169.254.169.254", "fe80::1", "224.0.0.1",
                          "::ffff:127.0.0.1", "fd00:ec2::254", "100.100.100.200"}) {
    const std::string why = guard.refusal("prometheus.example.com", address(bad));
    EXPECT_NE(why.find("--allow-gate-addresses"), std::string::npos) << bad;
  }
  for (const char* good : {"10.0.0.1", "192.168.1.1", "203.0.113.1", "fd00::1", "2001:db8::1"}) {
    EXPECT_EQ(guard.refusal("prometheus.example.com", address(good)), "") << good;
  }
}

TEST(AddressGuard, AllowsNetworksAndHostsByName) {
  const AddressGuard guard =
      AddressGuard::read({"127.0.0.0/8", "fe80::/10", "Metrics.local"}).value();
  EXPECT_EQ(guard.refusal("x", address("127.9.9.9")), "");
  EXPECT_EQ(guard.refusal("x", address("::ffff:127.0.0.1")), "");
  EXPECT_EQ(guard.refusal("x", address("fe80::1")), "");
  EXPECT_NE(guard.refusal("x", address("::1")), "");
  EXPECT_NE(guard.refusal("x", address("169.254.169.254")), "");
  EXPECT_EQ(guard.refusal("metrics.LOCAL.", address("169.254.1.1")), "");
  EXPECT_NE(guard.refusal("metrics.local.example.com", address("169.254.1.1")), "");
}

// Its metrics, and a dashboard, answer every client that reaches them.
TEST(AddressGuard, RefusesTheControllerItself) {
  AddressGuard guard = AddressGuard::read({"10.9.0.0/16", "me.example.com"}).value();
  guard.refuse_own({address("10.1.2.3"), address("fd00::3"), address("10.9.0.1")});
  guard.refuse_own_service("lockstep-controller.lockstep-system");
  for (const char* own : {"10.1.2.3", "fd00::3", "::ffff:10.1.2.3", "64:ff9b::a01:203"}) {
    const std::string why = guard.refusal("prometheus.example.com", address(own));
    EXPECT_NE(why.find("the controller itself"), std::string::npos) << own << why;
    EXPECT_NE(guard.refusal(own), "") << own;
  }
  EXPECT_EQ(guard.refusal("x", address("10.1.2.4")), "");
  EXPECT_EQ(guard.refusal("x", address("10.9.0.1")), "") << "allowed by its network";
  EXPECT_EQ(guard.refusal("me.example.com", address("10.1.2.3")), "") << "allowed by its name";
  // Its Service may mean another replica, at an address that is not known here.
  for (const char* own : {"lockstep-controller", "lockstep-controller.lockstep-system",
                          "Lockstep-Controller.lockstep-system.svc.",
                          "lockstep-controller.lockstep-system.svc.cluster.local",
                          "10-1-2-3.lockstep-controller.lockstep-system.svc.cluster.local"}) {
    EXPECT_NE(guard.refusal(own, address("10.1.2.4")), "") << own;
    EXPECT_NE(guard.refusal(own), "") << own;
  }
  for (const char* other : {"lockstep-controller.team-a", "prometheus.lockstep-system.svc",
                            "my-lockstep-controller.lockstep-system.svc",
                            "lockstep-controller.lockstep-system.example.com"}) {
    EXPECT_EQ(guard.refusal(other, address("10.1.2.4")), "") << other;
    EXPECT_EQ(guard.refusal(other), "") << other;
  }
}

TEST(AddressGuard, AddressesAreKnownWithoutLookingAnythingUp) {
  const AddressGuard guard;
  for (const char* bad : {"127.0.0.1", "[::1]", "::1", "localhost", "169.254.169.254"}) {
    EXPECT_NE(guard.refusal(bad), "") << bad;
  }
  for (const char* name : {"127.example.com", "prometheus", "10.0.0.1"}) {
    EXPECT_EQ(guard.refusal(name), "") << name;
  }
}

TEST(AddressGuard, BadEntriesAreErrors) {
  for (const char* bad : {"", "10.0.0.0/33", "127.1", "http://host", "host:80", "a b", "-x", "*"}) {
    EXPECT_FALSE(AddressGuard::read({bad})) << bad;
  }
}

struct GuardedTransport : ::testing::Test {
  Result<Response> get(const std::string& url, const std::vector<std::string>& allowed,
                       const std::string& proxy = {}) {
    Route route;
    route.endpoint = parse_endpoint(url, true).value();
    route.from_kubeconfig = false;
    route.proxy = proxy;
    route.guard = std::make_shared<AddressGuard>(AddressGuard::read(allowed).value());
    Client transport(loop);
    std::optional<Result<Response>> result;
    Client::Handlers handlers;
    handlers.on_done = [&](Result<Response> answer) { result = std::move(answer); };
    Exchange exchange;
    exchange.target = "/";
    transport.start(route, std::move(exchange), std::move(handlers));
    loop.run_until([&] { return result.has_value(); }, testing::patience);
    return result ? std::move(*result) : fail(ErrorKind::internal, "there was no answer");
  }
  std::string with_host(const std::string& host) const {
    return fmt::format("http://{}:{}", host, server.port());
  }

  EventLoop loop;
  ScriptedServer server{
      [](const ReceivedRequest&, ServerConnection& connection) { connection.answer(200, "ok"); }};
};

// As the connection sees it: names, and every way to write the address.
TEST_F(GuardedTransport, ARefusedAddressIsNotConnectedTo) {
  for (const char* host : {"127.0.0.1", "localhost", "127.1", "2130706433", "0x7f.0.0.1", "0.0.0.0",
                           "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[64:ff9b::7f00:1]"}) {
    const auto answer = get(with_host(host), {});
    ASSERT_FALSE(answer) << host;
    EXPECT_EQ(answer.error().kind, ErrorKind::forbidden) << host << answer.error().text();
    EXPECT_NE(answer.error().text().find("is refused"), std::string::npos) << answer.error().text();
  }
  EXPECT_EQ(server.connections(), 0U);
}

TEST_F(GuardedTransport, AnAllowedOneIs) {
  EXPECT_TRUE(get(with_host("127.0.0.1"), {"127.0.0.1"}));
  EXPECT_TRUE(get(with_host("localhost"), {"127.0.0.0/8", "::1"}));
  EXPECT_TRUE(get(with_host("localhost"), {"localhost"}));
  EXPECT_FALSE(get(with_host("127.0.0.1"), {"localhost"})) << "that name, not its address";
  EXPECT_FALSE(get(with_host("localhost"), {"10.0.0.0/8"}));
  EXPECT_EQ(server.connections(), 3U);
}

// The proxy is the operator's; what lies behind it is not.
TEST_F(GuardedTransport, AProxyIsNotAskedForARefusedAddress) {
  EXPECT_TRUE(get("http://prometheus.example.com", {}, server.url()));
  EXPECT_EQ(server.requests().size(), 1U);
  for (const char* target : {"http://169.254.169.254", "http://[::ffff:169.254.169.254]"}) {
    const auto answer = get(target, {}, server.url());
    ASSERT_FALSE(answer) << target;
    EXPECT_EQ(answer.error().kind, ErrorKind::forbidden);
  }
  EXPECT_EQ(server.requests().size(), 1U);
}

}  // namespace
}  // namespace lockstep::http::address_guard_test

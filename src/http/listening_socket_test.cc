#include "http/listening_socket.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace lockstep::http::listening_socket_test {
namespace {

TEST(ListeningSocket, TakesAFreePortAndKnowsWhetherOnlyThisMachineReachesIt) {
  auto here = listen_at("127.0.0.1:0");
  ASSERT_TRUE(here);
  EXPECT_GT(port_of(*here), 0);
  EXPECT_TRUE(is_loopback(*here));
  auto everywhere = listen_at(":0");
  ASSERT_TRUE(everywhere);
  EXPECT_FALSE(is_loopback(*everywhere));
  auto four = listen_at("0.0.0.0:0");
  ASSERT_TRUE(four);
  EXPECT_FALSE(is_loopback(*four));
}

TEST(ListeningSocket, SaysWhatIsWrongWithAnAddress) {
  for (const char* address : {"127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536"}) {
    auto socket = listen_at(address);
    ASSERT_FALSE(socket) << address;
    EXPECT_EQ(socket.error().kind, ErrorKind::invalid);
    EXPECT_NE(socket.error().message.find(address), std::string::npos);
  }
}

TEST(ListeningSocket, IsReachedAtItsAddressOrAtAllOfThisMachine) {
  const IpAddress here = IpAddress::v4({127, 0, 0, 1});
  EXPECT_EQ(addresses_of_listener("127.0.0.1:8080").value(), std::vector{here});
  EXPECT_EQ(addresses_of_listener("[fd00::7]:1").value(),
            std::vector{*IpAddress::parse("fd00::7")});
  for (const char* everywhere : {":8080", "0.0.0.0:8080", "[::]:8080"}) {
    const auto all = addresses_of_listener(everywhere).value();
    EXPECT_NE(std::find(all.begin(), all.end(), here), all.end()) << everywhere;
  }
  EXPECT_FALSE(addresses_of_listener("8080"));
}

TEST(ListeningSocket, APortThatIsTakenIsAnError) {
  auto first = listen_at("127.0.0.1:0");
  ASSERT_TRUE(first);
  EXPECT_FALSE(listen_at("127.0.0.1:" + std::to_string(port_of(*first))));
}

}  // namespace
}  // namespace lockstep::http::listening_socket_test

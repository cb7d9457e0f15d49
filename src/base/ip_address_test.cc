#include "base/ip_address.h"

#include <gtest/gtest.h>

namespace lockstep::ip_address_test {
namespace {

TEST(IpAddress, IsReadStrictly) {
  EXPECT_EQ(IpAddress::parse("10.0.0.1")->text(), "10.0.0.1");
  EXPECT_EQ(IpAddress::parse("[FD00::1]")->text(), "fd00::1");
  EXPECT_EQ(IpAddress::parse("::ffff:10.0.0.1")->text(), "10.0.0.1") << "IPv4 inside IPv6";
  for (const char* name :
       {"", "127.example.com", "127.", "127.1", "0x7f000001", "2130706433", "127.0.0.1.example.com",
        "[127.0.0.1]", "localhost", "::1%lo", "010.0.0.1", "1.2.3.4/8"}) {
    EXPECT_FALSE(IpAddress::parse(name)) << name;
  }
  EXPECT_FALSE(IpAddress::parse(std::string_view("10.0.0.1\0x", 10)));
}

TEST(IpNetwork, ContainsItsAddressesAndNoOthers) {
  const IpNetwork ten = IpNetwork::parse("10.16.0.0/12").value();
  EXPECT_TRUE(ten.contains(*IpAddress::parse("10.31.255.255")));
  EXPECT_FALSE(ten.contains(*IpAddress::parse("10.32.0.0")));
  EXPECT_TRUE(ten.contains(*IpAddress::parse("::ffff:10.16.0.1")));
  EXPECT_FALSE(IpNetwork::parse("::/0")->contains(*IpAddress::parse("10.16.0.1")));
  EXPECT_TRUE(IpNetwork::parse("fd00::/8")->contains(*IpAddress::parse("fd12::1")));
  EXPECT_TRUE(IpNetwork::parse("10.0.0.1")->contains(*IpAddress::parse("10.0.0.1")));
  EXPECT_FALSE(IpNetwork::parse("10.0.0.1")->contains(*IpAddress::parse("10.0.0.2")));
  for (const char* bad : {"", "/8", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "example.com/8"}) {
    EXPECT_FALSE(IpNetwork::parse(bad)) << bad;
  }
}

TEST(Loopback, IsThisMachineAndNoNameThatLooksLikeIt) {
  for (const char* here :
       {"localhost", "LOCALHOST", "127.0.0.1", "127.1.2.3", "::1", "[::1]", "::ffff:127.0.0.1"}) {
    EXPECT_TRUE(is_loopback_host(here)) << here;
  }
  for (const char* elsewhere : {"127.example.com", "127.0.0.1.example.com", "localhost.example.com",
                                "128.0.0.1", "", "::2", "0.0.0.0", "example.com"}) {
    EXPECT_FALSE(is_loopback_host(elsewhere)) << elsewhere;
  }
}

TEST(SpecialPurpose, NamesWhatIsNoServiceOfTheNetwork) {
  const std::pair<const char*, const char*> cases[] = {
      {"127.9.9.9", "loopback"},
      {"::1", "loopback"},
      {"::ffff:127.0.0.1", "loopback"},
      {"0.0.0.0", "unspecified"},
      {"0.1.2.3", "unspecified"},
      {"::", "unspecified"},
      {"169.254.1.1", "link-local"},
      {"fe80::1", "link-local"},
      {"febf::1", "link-local"},
      {"224.0.0.1", "multicast"},
      {"239.255.255.255", "multicast"},
      {"ff02::1", "multicast"},
      {"255.255.255.255", "broadcast"},
      {"169.254.169.254", "cloud metadata"},
      {"::ffff:169.254.169.254", "cloud metadata"},
      {"::169.254.169.254", "cloud metadata"},
      {"64:ff9b::a9fe:a9fe", "cloud metadata"},
      {"2002:a9fe:a9fe::1", "cloud metadata"},
      {"2002:7f00:1::", "loopback"},
      {"fd00:ec2::254", "cloud metadata"},
      {"fd00:ec2::23", "cloud metadata"},
      {"64:ff9b:1::a9fe:a9fe", "cloud metadata"},
      {"100.100.100.200", "cloud metadata"},
      {"168.63.129.16", "cloud metadata"},
      {"10.0.0.1", ""},
      {"192.168.1.1", ""},
      {"8.8.8.8", ""},
      {"2001:db8::1", ""},
      {"fd00::1", ""},
      {"64:ff9b::a00:1", ""},
  };
  for (const auto& [text, name] : cases) {
    EXPECT_EQ(special_purpose(*IpAddress::parse(text)), name) << text;
  }
}

}  // namespace
}  // namespace lockstep::ip_address_test

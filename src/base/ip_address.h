// IP addresses and networks as values, read strictly: a host name that merely looks like an address
// ("127.example.com") is refused. An IPv4 address inside an IPv6 one (::ffff:127.0.0.1) is the IPv4
// address.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace lockstep {

class IpAddress {
 public:
  // "10.0.0.1", "fd00::1", "[fd00::1]"; nothing for all else, names among it.
  static std::optional<IpAddress> parse(std::string_view text);
  // In network order.
  static IpAddress v4(const std::array<uint8_t, 4>& bytes);
  static IpAddress v6(const std::array<uint8_t, 16>& bytes);

  bool is_v4() const { return bits_ == 32; }
  bool is_loopback() const;
  std::string text() const;
  bool operator==(const IpAddress&) const = default;

 private:
  friend class IpNetwork;
  std::array<uint8_t, 16> bytes_{};  // of IPv4 the first four
  unsigned bits_ = 32;
};

class IpNetwork {
 public:
  // "10.0.0.0/8", "fd00::/8", or one address.
  static Result<IpNetwork> parse(std::string_view text);
  bool contains(const IpAddress& address) const;

 private:
  IpAddress base_;
  unsigned prefix_ = 0;
};

// This machine itself: "localhost", or an address of its loopback network, with brackets or
// without.
bool is_loopback_host(std::string_view host);

// The IPv4 address that an IPv6 one carries (IPv4-compatible, NAT64, 6to4): a connection may end
// there.
std::optional<IpAddress> carried_address(const IpAddress& address);

// What makes an address one that is not a service of the network: "loopback", "link-local",
// "unspecified", "multicast", "cloud metadata"; empty for all others. Addresses that carry an IPv4
// address (NAT64, 6to4) are what that one is.
std::string_view special_purpose(const IpAddress& address);

}  // namespace lockstep

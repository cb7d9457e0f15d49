#include "base/ip_address.h"

#include <algorithm>
#include <arpa/inet.h>

#include "base/strings.h"

namespace lockstep {

namespace {

struct Purpose {
  std::string_view network;
  std::string_view name;
};

// The first that contains the address. Metadata services come first: most of them are link-local.
constexpr std::array<Purpose, 17> purposes = {{
    {"169.254.169.254", "cloud metadata"},
    {"169.254.170.2", "cloud metadata"},    // of containers on ECS
    {"100.100.100.200", "cloud metadata"},  // Alibaba Cloud
    {"168.63.129.16", "cloud metadata"},    // Azure's host
    {"192.0.0.192", "cloud metadata"},      // Oracle Cloud
    {"fd00:ec2::254", "cloud metadata"},    // AWS
    {"fd00:ec2::23", "cloud metadata"},     // credentials of pods on EKS
    {"fd20:ce::254", "cloud metadata"},     // Google Cloud
    {"127.0.0.0/8", "loopback"},
    {"::1", "loopback"},
    {"0.0.0.0/8", "unspecified"},
    {"::", "unspecified"},
    {"169.254.0.0/16", "link-local"},
    {"fe80::/10", "link-local"},
    {"224.0.0.0/4", "multicast"},
    {"ff00::/8", "multicast"},
    {"255.255.255.255", "broadcast"},
}};

std::string_view without_brackets(std::string_view text) {
  if (text.size() > 2 && text.front() == '[' && text.back() == ']') {
    return text.substr(1, text.size() - 2);
  }
  return text;
}

std::string_view name_of(const IpAddress& address) {
  for (const Purpose& purpose : purposes) {
    const auto network = IpNetwork::parse(purpose.network);
    if (network && network->contains(address)) return purpose.name;
  }
  return {};
}

}  // namespace

IpAddress IpAddress::v4(const std::array<uint8_t, 4>& bytes) {
  IpAddress address;
  std::copy(bytes.begin(), bytes.end(), address.bytes_.begin());
  return address;
}

IpAddress IpAddress::v6(const std::array<uint8_t, 16>& bytes) {
  static constexpr std::array<uint8_t, 12> mapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (std::equal(mapped.begin(), mapped.end(), bytes.begin())) {
    return v4({bytes[12], bytes[13], bytes[14], bytes[15]});
  }
  IpAddress address;
  address.bytes_ = bytes;
  address.bits_ = 128;
  return address;
}

std::optional<IpAddress> IpAddress::parse(std::string_view text) {
  const std::string inner(without_brackets(text));
  const bool has_brackets = inner.size() != text.size();
  if (inner.find('\0') != std::string::npos) return std::nullopt;
  std::array<uint8_t, 4> four{};
  if (!has_brackets && inet_pton(AF_INET, inner.c_str(), four.data()) == 1) return v4(four);
  std::array<uint8_t, 16> six{};
  if (inet_pton(AF_INET6, inner.c_str(), six.data()) == 1) return v6(six);
  return std::nullopt;
}

bool IpAddress::is_loopback() const {
  if (is_v4()) return bytes_[0] == 127;
  return std::all_of(bytes_.begin(), bytes_.end() - 1, [](uint8_t byte) { return byte == 0; }) &&
         bytes_.back() == 1;
}

std::string IpAddress::text() const {
  char out[INET6_ADDRSTRLEN] = {};
  inet_ntop(is_v4() ? AF_INET : AF_INET6, bytes_.data(), out, sizeof out);
  return out;
}

Result<IpNetwork> IpNetwork::parse(std::string_view text) {
  const size_t slash = text.find('/');
  const auto base = IpAddress::parse(text.substr(0, slash));
  auto invalid = [&] {
    return failf(ErrorKind::invalid,
                 "\"{}\" is not an address or a network like 10.0.0.0/8 or fd00::/8", text);
  };
  if (!base) return invalid();
  IpNetwork network;
  network.base_ = *base;
  network.prefix_ = base->bits_;
  if (slash == std::string_view::npos) return network;
  const auto bits = parse_unsigned(text.substr(slash + 1));
  if (!bits || *bits > base->bits_) return invalid();
  network.prefix_ = static_cast<unsigned>(*bits);
  return network;
}

bool IpNetwork::contains(const IpAddress& address) const {
  if (address.bits_ != base_.bits_) return false;
  for (unsigned bit = 0; bit < prefix_; ++bit) {
    const unsigned mask = 0x80U >> (bit % 8);
    if (((base_.bytes_[bit / 8] ^ address.bytes_[bit / 8]) & mask) != 0) return false;
  }
  return true;
}

bool is_loopback_host(std::string_view host) {
  if (equal_ignoring_case(host, "localhost")) return true;
  const auto address = IpAddress::parse(host);
  return address && address->is_loopback();
}

std::optional<IpAddress> carried_address(const IpAddress& address) {
  if (address.is_v4()) return std::nullopt;
  std::array<uint8_t, 16> bytes{};
  inet_pton(AF_INET6, address.text().c_str(), bytes.data());
  // Where each carries it.
  static constexpr std::array<std::pair<std::string_view, size_t>, 4> carriers = {
      {{"::/96", 12}, {"64:ff9b::/96", 12}, {"64:ff9b:1::/48", 12}, {"2002::/16", 2}}};
  for (const auto& [text, at] : carriers) {
    const auto network = IpNetwork::parse(text);
    if (!network || !network->contains(address)) continue;
    return IpAddress::v4({bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]});
  }
  return std::nullopt;
}

std::string_view special_purpose(const IpAddress& address) {
  if (const std::string_view name = name_of(address); !name.empty()) return name;
  const auto carried = carried_address(address);
  return carried ? name_of(*carried) : std::string_view();
}

}  // namespace lockstep

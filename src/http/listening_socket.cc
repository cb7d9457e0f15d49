#include "http/listening_socket.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <ifaddrs.h>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <optional>
#include <string_view>
#include <sys/socket.h>
#include <utility>

#include <fmt/format.h>

#include "base/strings.h"

namespace lockstep::http {

namespace {

constexpr Duration pause_without_descriptors = seconds(1);

Error cannot_listen(const std::string& address, std::string_view why) {
  return Error{ErrorKind::invalid, fmt::format("cannot listen on \"{}\": {}", address, why), ""};
}

Error malformed(const std::string& address, std::string_view why) {
  Error error = cannot_listen(address, why);
  error.message += "; an address is written as 127.0.0.1:8080, [::1]:8080 or :8080";
  return error;
}

Descriptor bound_socket(const addrinfo& place, int& error) {
  Descriptor socket(::socket(place.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  auto give_up = [&] {
    error = errno;
    return Descriptor();
  };
  if (!socket) return give_up();
  int on = 1;
  int off = 0;
  setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (place.ai_family == AF_INET6) {
    setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  }
  if (bind(socket.get(), place.ai_addr, place.ai_addrlen) != 0) return give_up();
  if (::listen(socket.get(), SOMAXCONN) != 0) return give_up();
  return socket;
}

struct FreeAddresses {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};

using Places = std::unique_ptr<addrinfo, FreeAddresses>;

// The addresses that a listening address means.
Result<Places> places_of(const std::string& address) {
  size_t colon = address.rfind(':');
  if (colon == std::string::npos) return fail(malformed(address, "it has no port"));
  std::string host = address.substr(0, colon);
  std::string port = address.substr(colon + 1);
  auto number = parse_unsigned(port);
  if (!number || *number > 65535) {
    return fail(malformed(address, "its port is not a number from 0 to 65535"));
  }
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* raw = nullptr;
  // All addresses means IPv6's, which take IPv4's in too.
  if (host.empty()) host = "::";
  int code = getaddrinfo(host.c_str(), port.c_str(), &hints, &raw);
  Places places(raw);
  if (code != 0) return fail(malformed(address, gai_strerror(code)));
  return places;
}

Result<Descriptor> listen_on(const std::string& address) {
  LOCKSTEP_TRY(const Places places, places_of(address));
  int error = 0;
  for (const addrinfo* place = places.get(); place != nullptr; place = place->ai_next) {
    Descriptor socket = bound_socket(*place, error);
    if (socket) return socket;
  }
  return fail(cannot_listen(address, std::strerror(error)));
}

std::optional<IpAddress> address_in(const sockaddr* place) {
  if (place == nullptr) return std::nullopt;
  if (place->sa_family == AF_INET) {
    std::array<uint8_t, 4> bytes{};
    std::memcpy(bytes.data(), &reinterpret_cast<const sockaddr_in*>(place)->sin_addr, bytes.size());
    return IpAddress::v4(bytes);
  }
  if (place->sa_family != AF_INET6) return std::nullopt;
  std::array<uint8_t, 16> bytes{};
  std::memcpy(bytes.data(), &reinterpret_cast<const sockaddr_in6*>(place)->sin6_addr, bytes.size());
  return IpAddress::v6(bytes);
}

std::vector<IpAddress> addresses_of_this_machine() {
  std::vector<IpAddress> addresses;
  ifaddrs* raw = nullptr;
  if (getifaddrs(&raw) != 0) return addresses;
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> list(raw, &freeifaddrs);
  for (const ifaddrs* each = list.get(); each != nullptr; each = each->ifa_next) {
    if (auto address = address_in(each->ifa_addr)) addresses.push_back(*address);
  }
  return addresses;
}

}  // namespace

Result<std::vector<IpAddress>> addresses_of_listener(const std::string& address) {
  LOCKSTEP_TRY(const Places places, places_of(address));
  std::vector<IpAddress> addresses;
  for (const addrinfo* place = places.get(); place != nullptr; place = place->ai_next) {
    const auto found = address_in(place->ai_addr);
    if (!found) continue;
    if (special_purpose(*found) == "unspecified") return addresses_of_this_machine();
    addresses.push_back(*found);
  }
  return addresses;
}

Result<Descriptor> listen_at(const std::string& address) {
  auto socket = listen_on(address);
  // A machine without IPv6.
  if (!socket && address.substr(0, 1) == ":") socket = listen_on("0.0.0.0" + address);
  return socket;
}

uint16_t port_of(const Descriptor& socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&address)->sin6_port
                                             : reinterpret_cast<sockaddr_in*>(&address)->sin_port);
}

bool is_loopback(const Descriptor& socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) return false;
  if (address.ss_family == AF_INET6) {
    return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<sockaddr_in6*>(&address)->sin6_addr) != 0;
  }
  constexpr uint32_t loopback_network = 127;
  uint32_t host = ntohl(reinterpret_cast<sockaddr_in*>(&address)->sin_addr.s_addr);
  return address.ss_family == AF_INET && host >> 24 == loopback_network;
}

Acceptor::Acceptor(EventLoop& loop, Log& log, Descriptor socket, std::string who, Guest guest)
    : loop_(loop),
      log_(log),
      socket_(std::move(socket)),
      who_(std::move(who)),
      guest_(std::move(guest)) {
  watch();
}

Acceptor::~Acceptor() { loop_.unwatch_descriptor(socket_.get()); }

void Acceptor::watch() {
  loop_.watch_descriptor(socket_.get(), true, false,
                         scope_.bind([this](EventLoop::Readiness) { accept_all(); }));
}

void Acceptor::accept_all() {
  while (true) {
    Descriptor socket(accept4(socket_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (socket) {
      guest_(std::move(socket));
      continue;
    }
    if (errno == EINTR || errno == ECONNABORTED || errno == EPROTO) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) return;
    log_.warning(who_ + " cannot be accepted", {{"error", std::strerror(errno)}});
    loop_.unwatch_descriptor(socket_.get());
    loop_.after(pause_without_descriptors, scope_.bind([this] { watch(); }));
    return;
  }
}

}  // namespace lockstep::http

#include "http/address_guard.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "base/strings.h"

namespace lockstep::http {

namespace {

bool is_host_name(std::string_view text) {
  return !text.empty() && !text.starts_with('-') && !text.starts_with('.') &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return (c < 0x80 && std::isalnum(c) != 0) || c == '.' || c == '-' || c == '_';
         });
}

// "127.1" and "10.0.0" are neither addresses nor valid host names.
bool looks_numeric(std::string_view text) {
  const std::string_view last = text.substr(text.rfind('.') + 1);
  return !last.empty() && std::all_of(last.begin(), last.end(), is_digit);
}

// As names are compared: "host." is "host".
std::string canonical(std::string_view host) {
  if (host.ends_with('.')) host.remove_suffix(1);
  return lower(host);
}

}  // namespace

Result<AddressGuard> AddressGuard::read(const std::vector<std::string>& entries) {
  AddressGuard guard;
  for (const std::string& entry : entries) {
    if (auto network = IpNetwork::parse(entry)) {
      guard.networks_.push_back(*network);
      continue;
    }
    if (!is_host_name(entry) || looks_numeric(entry)) {
      return failf(ErrorKind::invalid,
                   "\"{}\" is not an address, a network like 10.0.0.0/8 or a host name", entry);
    }
    guard.hosts_.insert(canonical(entry));
  }
  return guard;
}

void AddressGuard::refuse_own(const std::vector<IpAddress>& addresses) {
  own_.insert(own_.end(), addresses.begin(), addresses.end());
}

void AddressGuard::refuse_own_service(std::string_view service) {
  own_services_.push_back(canonical(service));
}

std::string_view AddressGuard::purpose_of(const IpAddress& address) const {
  auto is_own = [&](const IpAddress& each) {
    return std::find(own_.begin(), own_.end(), each) != own_.end();
  };
  const auto carried = carried_address(address);
  if (is_own(address) || (carried && is_own(*carried))) return "the controller itself";
  return special_purpose(address);
}

// "name", "name.namespace", with ".svc" and the cluster's domain behind it, and a pod's name before
// it.
bool AddressGuard::is_own_service(std::string_view host) const {
  const std::string name = canonical(host);
  return std::any_of(own_services_.begin(), own_services_.end(), [&](const std::string& service) {
    if (name == service.substr(0, service.find('.'))) return true;
    const std::string labels = "." + name + ".";
    return labels.ends_with("." + service + ".") ||
           labels.find("." + service + ".svc.") != std::string::npos;
  });
}

std::string AddressGuard::refusal(std::string_view host, const IpAddress& address) const {
  if (hosts_.contains(canonical(host))) return {};
  if (is_own_service(host)) return refusal(host);
  const std::string_view purpose = purpose_of(address);
  if (purpose.empty()) return {};
  const bool is_allowed = std::any_of(networks_.begin(), networks_.end(),
                                      [&](const auto& each) { return each.contains(address); });
  if (is_allowed) return {};
  return fmt::format("the address {} ({}) is refused; --allow-gate-addresses allows it",
                     address.text(), purpose);
}

std::string AddressGuard::refusal(std::string_view host) const {
  const auto address = IpAddress::parse(host);
  if (address) return refusal(host, *address);
  if (is_loopback_host(host)) return refusal(host, IpAddress::v4({127, 0, 0, 1}));
  if (!is_own_service(host) || hosts_.contains(canonical(host))) return {};
  return fmt::format(
      "the host {} (the controller's own Service) is refused; "
      "--allow-gate-addresses allows it",
      host);
}

}  // namespace lockstep::http

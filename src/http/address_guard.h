// Which addresses may be connected to if others name the host: a rollout's gates, the webhook of
// notifications. It is asked with the address of each connection, after the name was resolved: a
// name that means another address a moment later gains nothing.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/ip_address.h"
#include "base/result.h"

namespace lockstep::http {

class AddressGuard {
 public:
  // Refuses addresses with a special purpose: this machine, link-local, cloud metadata and the
  // like.
  AddressGuard() = default;
  // Each entry allows an address or a network ("127.0.0.0/8"), or a host by its name, wherever that
  // is.
  static Result<AddressGuard> read(const std::vector<std::string>& entries);

  // Refuses this process's own addresses too: its pages answer every client that reaches them.
  void refuse_own(const std::vector<IpAddress>& addresses);
  // The same for the names of its Kubernetes Service ("name.namespace"), which may mean another
  // replica.
  void refuse_own_service(std::string_view service);

  // Why `address` may not be connected to for `host`; empty: it may.
  std::string refusal(std::string_view host, const IpAddress& address) const;
  // The same for a host without resolving it: addresses, and names of our own; empty for others.
  std::string refusal(std::string_view host) const;

 private:
  std::string_view purpose_of(const IpAddress& address) const;
  bool is_own_service(std::string_view host) const;

  std::vector<IpAddress> own_;
  std::vector<std::string> own_services_;  // "name.namespace", in lower case
  std::vector<IpNetwork> networks_;
  std::set<std::string> hosts_;  // in lower case
};

}  // namespace lockstep::http

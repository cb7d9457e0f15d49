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

  // Why `address` may not be connected to for `host`; empty: it may.
  std::string refusal(std::string_view host, const IpAddress& address) const;
  // The same for a host that is an address itself, without resolving anything; empty for names.
  std::string refusal(std::string_view host) const;

 private:
  std::vector<IpNetwork> networks_;
  std::set<std::string> hosts_;  // in lower case
};

}  // namespace lockstep::http

#include "cli/gate_guard.h"

#include <utility>

#include "base/strings.h"
#include "http/listening_socket.h"

namespace lockstep::cli {

Result<http::AddressGuard> gate_guard(const ControllerFlags& flags,
                                      const kube::Environment& environment) {
  auto read = http::AddressGuard::read(flags.allow_gate_addresses);
  if (!read) return fail(read.error().at("--allow-gate-addresses"));
  http::AddressGuard guard = std::move(*read);
  auto value_of = [&](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? std::string_view() : std::string_view(found->second);
  };
  for (std::string_view text : split(value_of("POD_IPS"), ',')) {
    if (const auto address = IpAddress::parse(text)) guard.refuse_own({*address});
  }
  const std::string_view service = value_of("POD_SERVICE");
  if (!service.empty()) guard.refuse_own_service(service);
  for (const std::string* listener : {&flags.status_address, &flags.dashboard_address}) {
    if (listener->empty()) continue;
    // One that cannot be read is an error where its server starts.
    if (auto addresses = http::addresses_of_listener(*listener)) guard.refuse_own(*addresses);
  }
  return guard;
}

}  // namespace lockstep::cli

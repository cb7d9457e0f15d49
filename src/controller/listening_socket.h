// A socket that listens on an address as a person writes it, for the small servers of a process.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "world/descriptor.h"

namespace lockstep::controller {

// "127.0.0.1:8080", "[::1]:8080", ":8080" for all addresses; port 0 takes a free one.
Result<Descriptor> listen_at(const std::string& address);
uint16_t port_of(const Descriptor& socket);
// Only this machine reaches it.
bool is_loopback(const Descriptor& socket);

}  // namespace lockstep::controller

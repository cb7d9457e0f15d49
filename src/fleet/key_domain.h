// Which of the key domains a command works with: the controller says which is its own, by an
// annotation of its Lease. What is written in another one has no reader.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lockstep::fleet {

inline constexpr std::string_view usual_key_domain = "nvidia.com";
inline constexpr std::string_view own_key_domain = "lockstep.dev";
// On the Lease of the controller.
inline constexpr std::string_view key_domain_annotation = "lockstep.dev/key-domain";
// On the same: the namespaces in which it searches for the driver, separated by commas.
inline constexpr std::string_view driver_namespaces_annotation = "lockstep.dev/driver-namespaces";

struct KeyDomainFacts {
  std::string asked;      // by --key-domain or LOCKSTEP_KEY_DOMAIN; empty: by neither
  std::string published;  // by the controller; empty: nothing
  // The domains of nodes' upgrade states; read if nothing is published.
  std::vector<std::string> labelled;
};

struct KeyDomain {
  std::string domain;
  // What belongs to another one: what, and what to do. Empty: no conflict. A caller that finds a
  // conflict reports it, and writes nothing.
  std::string conflict;
  std::string remedy;
};

KeyDomain choose_key_domain(const KeyDomainFacts& facts);

}  // namespace lockstep::fleet

// What a server wants to see of us: the WWW-Authenticate header (RFC 9110, 11.6.1).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::registry {

struct Challenge {
  std::string scheme;                             // lower case: "basic", "bearer"
  std::map<std::string, std::string> parameters;  // names in lower case

  std::string parameter(const std::string& name) const;
  bool operator==(const Challenge&) const = default;
};

// One header may hold several. Reads whatever it can: nonsense gives challenges of unknown types.
std::vector<Challenge> parse_challenges(std::string_view header);

}  // namespace lockstep::registry

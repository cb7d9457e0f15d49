// What the controller has to be allowed, one by one, as an access review asks it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/json.h"

namespace lockstep::doctor {

struct Right {
  std::string verb;
  std::string group;
  std::string resource;
  std::string subresource = {};
  std::string ns = {};    // empty: everywhere
  std::string name = {};  // of one object; empty: all

  // "patch nodes", "create pods/eviction".
  std::string text() const;
  bool operator==(const Right&) const = default;
};

// All that the Roles and ClusterRoles among these objects grant, one by one: of what `lockstep
// install` would make, that is what the controller needs.
std::vector<Right> rights_in(const std::vector<Json>& manifests);

// The review of a user's right; an empty user is the caller's own account.
Json review_of(const Right& right, const std::string& user);
// Nothing where the server gives no verdict.
std::optional<bool> verdict_of(const Json& review);

}  // namespace lockstep::doctor

// One notification to users: what happened to what, why, and what to do. As plain JSON, or in the
// forms that Slack and Teams take.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "data/json.h"
#include "fleet/reason.h"

namespace lockstep::notify {

struct Notice {
  Time at;
  fleet::Severity severity = fleet::Severity::info;
  fleet::ReasonName event;   // node_failed, phase_changed, pool_held, …
  std::string subject;       // "Node gpu-7", "DriverRollout fleet"
  std::string state;         // the phase or state that it is in now
  fleet::ReasonName reason;  // as in docs/TROUBLESHOOTING.md
  std::string text;          // the evidence, with its numbers
  std::string remedy;        // what would change it; may be empty

  // Two of the same key are the same news: numbers in the text change all the time.
  std::string key() const;
};

enum class Form { json, slack, teams };
// "json", "slack", "teams".
std::optional<Form> form_of(std::string_view name);

// `cluster`: which one, for users with several; may be empty.
Json message_of(const Notice& notice, Form form, const std::string& cluster);

}  // namespace lockstep::notify

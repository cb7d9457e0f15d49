// Tests name reasons as users read them, so that no name changes unnoticed.
#pragma once

#include <ostream>
#include <string_view>

#include "fleet/reason.h"

namespace lockstep::fleet {

inline bool operator==(const ReasonName& reason, std::string_view name) {
  return reason.view() == name;
}
inline void PrintTo(const ReasonName& reason, std::ostream* out) { *out << reason.view(); }

}  // namespace lockstep::fleet

// Why a node is where it is: a name for dashboards, a sentence with the numbers in it for people,
// and what would change it.
#pragma once

#include <string>

namespace lockstep::upgrade {

struct Reason {
  std::string name;    // "WaitsForSlot"
  std::string text;    // "5 upgrades in progress, and maxParallelUpgrades is 5"
  std::string remedy;  // "raise maxParallelUpgrades, or wait"; may be empty

  bool operator==(const Reason&) const = default;
};

}  // namespace lockstep::upgrade

// A few rules of every kind, for tests that must not change when NVIDIA releases something.
#pragma once

#include <string>

#include "rollout/compatibility_rules.h"

namespace lockstep::rollout {

inline const std::string some_rules = R"(sources: {notes: "https://notes", page: "https://page"}
cudaToolkits:
  - {cuda: "12.8", driver: "570.26", source: notes}
  - {cuda: "12.8.1", driver: "570.124.06", source: notes}
  - {cuda: "12.6", driver: "560.28.03", source: notes}
cudaMajors:
  - {cuda: "12", driver: "525.60.13", source: notes}
operators:
  - operator: "24.9"
    kubernetes: {from: "1.24", to: "1.31"}
    openshift: {from: "4.12", to: "4.17"}
    source: page
drivers:
  - {name: b200-floor, models: [B200], atLeast: "570.133.20", reason: too old, source: page}
  - {name: volta-ceiling, models: [V100], below: "590", reason: too new, source: page}
  - name: everybodys-hole
    notBetween: {from: "525.60.13", before: "525.105.17"}
    reason: hangs
    source: page
  - {name: mig-hole, withMigOnly: true, notVersions: ["570.124.06"], reason: pending, source: page}
)";

inline Compatibility rules_for_test() { return read_compatibility(some_rules, "rules").value(); }

}  // namespace lockstep::rollout

#include "doctor/examine.h"

#include <string>

#include "doctor/access_checks.h"
#include "doctor/driver_checks.h"
#include "doctor/fleet_checks.h"

namespace lockstep::doctor {

std::vector<Check> examine(const ClusterView& view) {
  struct Look {
    std::string name;
    Check (*check)(const ClusterView&);
  };
  const std::vector<Look> looks = {
      {"Controller", check_controller},
      {fleet::ReasonName(fleet::Reason::conflicting_controller).str(),
       check_conflicting_controllers},
      {"Policies", check_policies},
      {"DriverDaemonSets", check_driver_sets},
      {"DriverManager", check_driver_manager},
      {"LookalikeDriver", check_lookalikes},
      {"Rights", check_rights},
      {"OrphanedCordons", check_cordons},
      {"OrphanedLabels", check_labels},
      {"StalePlugins", check_plugins},
      {"UnknownPlugins", check_unknown_plugins},
      {"StuckClaims", check_claims},
      {"Versions", check_versions},
      {"Webhooks", check_webhooks},
      {"Clocks", check_clocks},
      {"Certificates", check_certificates},
  };
  std::vector<Check> checks;
  for (const Look& look : looks) {
    auto unread = view.unread.find(look.name);
    checks.push_back(unread == view.unread.end() ? look.check(view)
                                                 : skipped(look.name, unread->second));
  }
  return checks;
}

}  // namespace lockstep::doctor

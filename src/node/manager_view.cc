#include "node/manager_view.h"

namespace lockstep::node {

std::string_view to_string(ManagerStep step) {
  switch (step) {
    case ManagerStep::host_driver:
      return "host-driver";
    case ManagerStep::pause_operands:
      return "pause-operands";
    case ManagerStep::wait_for_operands:
      return "wait-for-operands";
    case ManagerStep::cordon:
      return "cordon";
    case ManagerStep::evict:
      return "evict";
    case ManagerStep::drain:
      return "drain";
    case ManagerStep::claims:
      return "claims";
    case ManagerStep::stop_plugin:
      return "stop-plugin";
    case ManagerStep::devices:
      return "devices";
    case ManagerStep::unload:
      return "unload";
    case ManagerStep::clean_up:
      return "clean-up";
    case ManagerStep::restore:
      return "restore";
    case ManagerStep::finish:
      return "finish";
  }
  return "";
}

}  // namespace lockstep::node

// Before anything on the node is moved: idle nodes, and what a node that waits says of itself.
#include <fmt/format.h>

#include "sim/actors/object_facts.h"
#include "sim/oracle/reason_truth.h"

namespace lockstep::sim {

namespace {

using fleet::Reason;
using fleet::State;

bool is_annotated(const Said& said, std::string_view key) {
  return has_annotation(*said.node.object, key);
}

template <State state>
std::string is_in(const Said& said) {
  return said.node.state == state ? "" : fmt::format("it is in {}", display_name(said.node.state));
}

std::string is_without_driver(const Said& said) {
  if (said.truth.driver_pod(said.name) != nullptr) return "it has a driver pod";
  const DriverTruth* driver = driver_for(said);
  bool is_wanted = driver != nullptr && !said.truth.may_be_unknown(driver->changed);
  return is_wanted ? "a DaemonSet wants a driver there" : "";
}

std::string is_requested(const Said& said) {
  bool is_so = annotation_of(*said.node.object, said.truth.keys().requested) == "true";
  return is_so ? "" : "no user has requested it";
}

std::string waits_for_safe_load(const Said& said) {
  bool is_so = !annotation_of(*said.node.object, said.truth.keys().safe_load).empty();
  return is_so ? "" : "its driver does not wait to be loaded";
}

std::string is_broken_off(const Said& said) {
  bool is_so = is_annotated(said, fleet::unvalidated_annotation) ||
               annotation_of(*said.node.object, fleet::cordon_annotation) == fleet::our_cordon;
  return is_so ? "" : "nothing of an upgrade is left on it";
}

std::string is_resumed(const Said& said) {
  return is_annotated(said, fleet::unvalidated_annotation) ? "" : "its driver was not restarted";
}

std::string is_restart_only(const Said& said) {
  const PodTruth* pod = said.truth.driver_pod(said.name);
  if (pod == nullptr || said.truth.may_be_unknown(pod->changed)) return {};
  const DriverTruth* driver = said.truth.driver_of(*pod->object);
  if (driver != nullptr && said.truth.may_be_unknown(driver->changed)) return {};
  return said.truth.is_configured_as_wanted(*pod->object) ? "" : "the driver itself changes";
}

std::string is_given_slot(const Said& said) {
  return said.pool.reserved.contains(said.name) ? "" : "no slot is written down for it";
}

std::string is_skipped(const Said& said) {
  return is_skipped_node(*said.node.object) ? "" : "it has no label that says so";
}

std::string is_cordoned_and_ignored(const Said& said) {
  if (!said.node.unschedulable) return "it is not cordoned";
  bool is_ignored = by_some_policy(said, [](const upgrade::Policy& policy) {
    return policy.cordoned_nodes == upgrade::CordonedNodes::ignore;
  });
  return is_ignored ? "" : "cordonedNodes is not ignore";
}

std::string has_lost_cordon(const Said& said) {
  if (said.node.unschedulable) return "it is cordoned";
  return fleet::is_active(said.node.state) ? "" : "nothing of an upgrade holds it";
}

std::string is_lifted(const Said& said) {
  if (said.node.unschedulable) return "it is cordoned";
  bool was_ours = annotation_of(*said.node.object, fleet::cordon_annotation) == fleet::our_cordon;
  return was_ours ? "" : "we have not cordoned it";
}

std::string has_no_time(const Said& said) {
  if (!fleet::is_active(said.node.state) && said.node.state != State::required) {
    return "no time of its counts";
  }
  auto since = parse_rfc3339(annotation_of(*said.node.object, fleet::since_annotation));
  // By the controller's clock, which may have been set.
  bool is_to_come = !since || said.truth.clock_set.is_set() ||
                    *since > said.truth.cluster().loop.now() + minutes(9);
  return is_to_come ? "" : "it says since when it is there";
}

}  // namespace

const Objections& objections_to_starting() {
  static const Objections table = {
      {Reason::interrupted, is_broken_off},
      {Reason::uncordoned_by_user, is_lifted},
      {Reason::cordoned, is_in<State::cordon>},
      {Reason::cordoned_again, has_lost_cordon},
      {Reason::cordoned_ignored, is_cordoned_and_ignored},
      {Reason::no_driver, is_without_driver},
      {Reason::restart_only, is_restart_only},
      {Reason::resumed, is_resumed},
      {Reason::safe_load, waits_for_safe_load},
      {Reason::safe_to_load, waits_for_safe_load},
      {Reason::skipped, is_skipped},
      {Reason::slot_given, is_given_slot},
      {Reason::time_noted, has_no_time},
      {Reason::upgrade_requested, is_requested},
      {Reason::upgraded, is_in<State::uncordon>},
  };
  return table;
}

}  // namespace lockstep::sim

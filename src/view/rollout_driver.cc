#include "view/rollout_driver.h"

namespace lockstep::view {

namespace {

// As users know it: the version in the tag, or the image without its registry.
std::string version_of(const std::string& image) {
  std::string version = fleet::version_of_image(image);
  return version.empty() ? image.substr(image.rfind('/') + 1) : version;
}

std::optional<rollout::DriverFields> object_fields(const FleetWatch& watch,
                                                   const rollout::RolloutSpec& spec) {
  if (spec.driver.kind == rollout::DriverKind::daemon_set) return std::nullopt;
  auto object = watch.driver_objects(spec.driver.kind).find(kube::KeyView("", spec.driver.name));
  if (!object) return std::nullopt;
  return rollout::read_driver_fields(spec.driver.kind, *object->document);
}

}  // namespace

void add_driver(const FleetWatch& watch, const rollout::RolloutSpec& spec,
                const std::set<std::string>& sets, DriverOfRollout& driver) {
  driver.object = object_fields(watch, spec);
  rollout::DriverRevision target;
  rollout::DriverRevision previous;
  bool object_fits = driver.object.has_value();
  for (const std::string& set : sets) {
    auto revisions = watch.revisions_of(set);
    if (!revisions) return;
    target.revisions[set] = revisions->newest;
    target.version = version_of(revisions->newest_image);
    driver.target_image = revisions->newest_image;
    object_fits = object_fits && rollout::fits(*driver.object, revisions->newest_image);
    // A set that never changed was before as it is now.
    previous.revisions[set] = revisions->previous.empty() ? revisions->newest : revisions->previous;
    if (!revisions->previous.empty()) previous.version = version_of(revisions->previous_image);
  }
  if (object_fits) {
    target.fields = driver.object;
    if (std::string version = driver.object->version(); !version.empty()) target.version = version;
  }
  driver.target = target;
  if (previous.is_set() && !previous.same_as(target)) driver.previous = previous;
}

}  // namespace lockstep::view

#include "view/driver_revisions.h"

#include <algorithm>

namespace lockstep::view {

namespace {

Text digest_of(const DaemonSet::Template& pod_template) {
  const Text* digest = pod_template.spec.find_environment("DRIVER_CONFIG_DIGEST");
  return digest == nullptr ? Text() : *digest;
}

}  // namespace

std::optional<Text> DriverRevisions::read(const ControllerRevision& revision) {
  const OwnerReference* owner = revision.meta.controller();
  if (owner == nullptr || !drivers_.covers(revision.meta.ns)) return std::nullopt;
  auto all = owned_by(owner->uid);
  const auto* newest = fleet::newest_revision(all);
  Newest known;
  if (newest != nullptr) {
    known = {Text(newest->hash()), digest_of(newest->pod_template), newest->meta.created, {}};
    for (const auto& each : all) known.hashes.emplace_back(each->hash());
  }
  auto at = newest_.find(owner->uid.view());
  if (at != newest_.end() && at->second == known) return std::nullopt;
  newest_[owner->uid.str()] = std::move(known);
  return owner->uid;
}

std::vector<std::shared_ptr<const ControllerRevision>> DriverRevisions::owned_by(
    const Text& uid) const {
  auto all = caches_.revisions().find_all("owner", uid);
  std::erase_if(all, [&](const auto& each) { return !drivers_.covers(each->meta.ns); });
  return all;
}

// A new revision beside the old template would make every change look as if it did not affect the
// driver, and the driver be restarted under running work.
const DriverRevisions::Newest* DriverRevisions::known_of(const DaemonSet& set) const {
  auto known = newest_.find(set.meta.uid.view());
  const bool agree = known != newest_.end() && known->second.digest == digest_of(set.pod_template);
  return agree ? &known->second : nullptr;
}

Text DriverRevisions::newest_of(const fleet::DriverView& driver) const {
  const Newest* newest = driver.set ? known_of(*driver.set) : nullptr;
  // A pod that is younger than the newest known revision, and of an unknown one, is not old: our
  // view is stale.
  if (newest == nullptr || is_of_later_revision(driver, *newest)) return {};
  return newest->hash;
}

bool DriverRevisions::is_of_later_revision(const fleet::DriverView& driver, const Newest& newest) {
  if (driver.pod == nullptr || driver.is_orphan() || !newest.created.is_set()) return false;
  std::string_view hash = driver.pod->meta.labels.get(fleet::revision_label);
  bool known = std::any_of(newest.hashes.begin(), newest.hashes.end(),
                           [&](const Text& each) { return each == hash; });
  return !hash.empty() && !known && driver.pod->meta.created >= newest.created;
}

std::optional<SetRevisions> DriverRevisions::of(const std::string& key) const {
  auto slash = key.find('/');
  if (slash == std::string::npos) return std::nullopt;
  auto set = caches_.daemon_sets().find(ObjectKey{key.substr(0, slash), key.substr(slash + 1)});
  const Newest* known = set ? known_of(*set) : nullptr;
  if (known == nullptr) return std::nullopt;
  auto all = owned_by(set->meta.uid);
  const ControllerRevision* newest = fleet::newest_revision(all);
  if (newest == nullptr || known->hash.empty()) return std::nullopt;
  SetRevisions found;
  found.newest = known->hash.str();
  found.newest_image = fleet::driver_image_of(set->pod_template.spec);
  std::erase_if(all, [&](const auto& each) { return each->hash() == newest->hash(); });
  if (const ControllerRevision* previous = fleet::newest_revision(all)) {
    found.previous = std::string(previous->hash());
    found.previous_image = fleet::driver_image_of(previous->pod_template.spec);
  }
  return found;
}

}  // namespace lockstep::view

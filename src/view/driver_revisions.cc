#include "view/driver_revisions.h"

#include <algorithm>

namespace lockstep::view {

namespace {

Text digest_of(const DaemonSet::Template& pod_template) {
  const Text* digest = pod_template.spec.find_environment("DRIVER_CONFIG_DIGEST");
  return digest == nullptr ? Text() : *digest;
}

// All are of one DaemonSet.
NewestRevision newest_in(const std::vector<std::shared_ptr<const ControllerRevision>>& all) {
  const ControllerRevision* newest = fleet::newest_revision(all);
  if (newest == nullptr) return {};
  NewestRevision known = {
      Text(newest->hash()), digest_of(newest->pod_template), newest->meta.created, {}};
  for (const auto& each : all) known.hashes.emplace_back(each->hash());
  return known;
}

// A new revision beside the old template would make every change look as if it did not affect the
// driver, and the driver be restarted under running work.
bool goes_with(const NewestRevision& newest, const DaemonSet& set) {
  return newest.digest == digest_of(set.pod_template);
}

// A pod that was made after the newest revision that we know, of one that we do not know, is no
// old pod: we are behind.
bool is_of_later_revision(const fleet::DriverView& driver, const NewestRevision& newest) {
  if (driver.pod == nullptr || driver.is_orphan() || !newest.created.is_set()) return false;
  std::string_view hash = driver.pod->meta.labels.get(fleet::revision_label);
  bool known = std::any_of(newest.hashes.begin(), newest.hashes.end(),
                           [&](const Text& each) { return each == hash; });
  return !hash.empty() && !known && driver.pod->meta.created >= newest.created;
}

}  // namespace

Text newest_among(const std::vector<std::shared_ptr<const ControllerRevision>>& revisions,
                  const fleet::DriverView& driver) {
  const NewestRevision newest = newest_in(revisions);
  const bool is_told =
      driver.set && goes_with(newest, *driver.set) && !is_of_later_revision(driver, newest);
  return is_told ? newest.hash : Text();
}

std::optional<Text> DriverRevisions::read(const ControllerRevision& revision) {
  const OwnerReference* owner = revision.meta.controller();
  if (owner == nullptr || !drivers_.covers(revision.meta.ns)) return std::nullopt;
  NewestRevision known = newest_in(owned_by(owner->uid));
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

const NewestRevision* DriverRevisions::known_of(const DaemonSet& set) const {
  auto known = newest_.find(set.meta.uid.view());
  return known != newest_.end() && goes_with(known->second, set) ? &known->second : nullptr;
}

Text DriverRevisions::newest_of(const fleet::DriverView& driver) const {
  const NewestRevision* newest = driver.set ? known_of(*driver.set) : nullptr;
  if (newest == nullptr || is_of_later_revision(driver, *newest)) return {};
  return newest->hash;
}

std::optional<SetRevisions> DriverRevisions::of(const std::string& key) const {
  auto slash = key.find('/');
  if (slash == std::string::npos) return std::nullopt;
  auto set = caches_.daemon_sets().find(ObjectKey{key.substr(0, slash), key.substr(slash + 1)});
  const NewestRevision* known = set ? known_of(*set) : nullptr;
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

// Which revision of a driver's DaemonSet is the newest. Two watches say it, of which one may be
// behind: as long as they do not agree, it is not known.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fleet/driver.h"
#include "view/fleet_caches.h"

namespace lockstep::view {

// The newest revision of a driver's DaemonSet and the one before it, with their images.
struct SetRevisions {
  std::string newest;
  std::string newest_image;
  std::string previous;
  std::string previous_image;
};

struct NewestRevision {
  Text hash;
  Text digest;  // of the driver's configuration, in its template
  Time created;
  std::vector<Text> hashes;  // of all the DaemonSet's revisions

  bool operator==(const NewestRevision&) const = default;
};

// By all revisions of the driver's DaemonSet that were read. Empty: they do not tell.
Text newest_among(const std::vector<std::shared_ptr<const ControllerRevision>>& revisions,
                  const fleet::DriverView& driver);

class DriverRevisions {
 public:
  DriverRevisions(const FleetCaches& caches, const fleet::DriverOptions& drivers)
      : caches_(caches), drivers_(drivers) {}

  // The uid of the DaemonSet of which another revision is the newest now; nothing: of none.
  std::optional<Text> read(const ControllerRevision& revision);
  // Empty: it is not known at this moment.
  Text newest_of(const fleet::DriverView& driver) const;
  // By "namespace/name" of the DaemonSet. Nothing: it is not known at this moment.
  std::optional<SetRevisions> of(const std::string& set) const;

 private:
  // Null: none is known, or it does not go with the DaemonSet.
  const NewestRevision* known_of(const DaemonSet& set) const;
  // In the driver namespaces: elsewhere a tenant may have named the DaemonSet as its owner.
  std::vector<std::shared_ptr<const ControllerRevision>> owned_by(const Text& uid) const;

  const FleetCaches& caches_;
  const fleet::DriverOptions& drivers_;
  std::map<std::string, NewestRevision, std::less<>> newest_;  // by the DaemonSet's uid
};

}  // namespace lockstep::view

// What was measured of a cluster: AICR's snapshot file. It says which recipe fits (which service,
// accelerator, operating system), and which overlays demand what the cluster has not.
//
// Other versions of AICR measure other things, so that only what we use is checked.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "bundle/constraint.h"
#include "bundle/criteria.h"
#include "bundle/overlay.h"
#include "data/strict_reader.h"

namespace lockstep::bundle {

class Snapshot {
 public:
  static Result<Snapshot> read(YamlFile file);

  // The measured value as it is written; none when it was not measured. A subtype may have dots of
  // its own (SystemD.containerd.service.ActiveState): every way to part the path is tried.
  std::optional<std::string> find(const ConstraintPath& path) const;
  std::optional<std::string> find(std::string_view type, std::string_view subtype,
                                  std::string_view key) const;

  // The keys that were measured of a subtype, in their order.
  std::vector<std::string> keys(std::string_view type, std::string_view subtype) const;

 private:
  explicit Snapshot(YamlFile file) : file_(std::move(file)) {}

  YamlFile file_;
};

// The criteria that follow from the measurements; the rest is any. A measured value that is unknown
// is any too, and so is the accelerator of a cluster that has several.
Criteria criteria_of(const Snapshot& snapshot, const CriteriaWords& words);

// One demand that keeps an overlay out.
struct ExcludedOverlay {
  std::string name;
  std::string constraint;
  std::string expected;
  std::optional<std::string> found;  // none: it was not measured

  // The warning.
  std::string text() const;
};

// The demands of the overlay that the cluster does not meet; none: it applies. What was not
// measured is not met, as in AICR. A constraint that cannot be read is an error.
Result<std::vector<ExcludedOverlay>> unmet(const Overlay& overlay, const Snapshot& snapshot);

}  // namespace lockstep::bundle

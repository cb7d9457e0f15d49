// checksums.txt of a bundle, in the format of sha256sum, and the comparison with what is there.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bundle/release.h"

namespace lockstep::bundle {

constexpr std::string_view checksums_file = "checksums.txt";

// Of every file but checksums.txt itself, by path.
std::string checksums(const BundleFiles& files);

// Paths, each list in order.
struct VerifyReport {
  std::vector<std::string> changed;
  std::vector<std::string> missing;
  std::vector<std::string> added;

  bool is_intact() const { return changed.empty() && missing.empty() && added.empty(); }
  bool operator==(const VerifyReport&) const = default;
};

// A string that is not a list of checksums, names a file twice, or names one outside the bundle is
// an error with its line.
Result<VerifyReport> verify(std::string_view checksums_text, const BundleFiles& files);

}  // namespace lockstep::bundle

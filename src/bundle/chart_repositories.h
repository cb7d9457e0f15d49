// The repositories of a bundle's charts, each once and with a name, for deployers that declare a
// repository before they use it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bundle/release.h"

namespace lockstep::bundle {

struct ChartRepository {
  std::string name;  // a DNS label made from the address
  std::string url;
  bool is_oci = false;
};

// In the order in which the releases use them.
std::vector<ChartRepository> chart_repositories(const BundleModel& model);

// `url` is one of theirs.
const ChartRepository& repository_of(const std::vector<ChartRepository>& repositories,
                                     std::string_view url);

bool is_oci(std::string_view repository);
// "oci://host/path" without what is before "host", as some programs want it.
std::string_view without_oci(std::string_view repository);

}  // namespace lockstep::bundle

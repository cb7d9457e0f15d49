#include "bundle/chart_repositories.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/strings.h"

namespace lockstep::bundle {

namespace {

constexpr std::string_view oci_scheme = "oci://";
// Leaves room for a number, in the 63 characters of a label.
constexpr size_t longest_name = 50;

// "https://helm.ngc.nvidia.com/nvidia" is helm-ngc-nvidia-com-nvidia.
std::string name_from(std::string_view url) {
  if (const size_t scheme = url.find("://"); scheme != std::string_view::npos) {
    url.remove_prefix(scheme + 3);
  }
  std::string name;
  for (const char c : lower(url)) {
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) {
      name += c;
    } else if (!name.empty() && name.back() != '-') {
      name += '-';
    }
    if (name.size() == longest_name) break;
  }
  while (name.ends_with('-')) name.pop_back();
  return name.empty() ? "charts" : name;
}

}  // namespace

bool is_oci(std::string_view repository) { return repository.starts_with(oci_scheme); }

std::string_view without_oci(std::string_view repository) {
  if (is_oci(repository)) repository.remove_prefix(oci_scheme.size());
  return repository;
}

std::vector<ChartRepository> chart_repositories(const BundleModel& model) {
  std::vector<ChartRepository> repositories;
  std::set<std::string> urls;
  std::set<std::string> names;
  for (const Release& release : model.releases) {
    if (release.kind != ReleaseKind::upstream || !urls.insert(release.repository).second) continue;
    const std::string wanted = name_from(release.repository);
    std::string name = wanted;
    for (int number = 2; !names.insert(name).second; ++number) {
      name = fmt::format("{}-{}", wanted, number);
    }
    repositories.push_back({name, release.repository, is_oci(release.repository)});
  }
  return repositories;
}

const ChartRepository& repository_of(const std::vector<ChartRepository>& repositories,
                                     std::string_view url) {
  return *std::find_if(repositories.begin(), repositories.end(),
                       [&](const ChartRepository& repository) { return repository.url == url; });
}

}  // namespace lockstep::bundle

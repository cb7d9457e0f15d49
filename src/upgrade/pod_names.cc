#include "upgrade/pod_names.h"

#include <fmt/format.h>

namespace lockstep::upgrade {

std::string name_pod(const Pod& pod) {
  return fmt::format("{}/{}", pod.meta.ns.view(), pod.meta.name.view());
}

std::string counted(size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string name_some(const std::vector<std::string>& names, size_t most) {
  std::string text;
  for (size_t i = 0; i < names.size() && i < most; ++i) text += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > most) text += fmt::format(" and {} more", names.size() - most);
  return text;
}

std::string name_pods(const std::vector<fleet::PodPtr>& pods, size_t most) {
  std::vector<std::string> names;
  names.reserve(pods.size());
  for (const auto& pod : pods) names.push_back(name_pod(*pod));
  return name_some(names, most);
}

}  // namespace lockstep::upgrade

#include "gpu/host_facts.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <fmt/format.h>

#include "base/strings.h"

namespace lockstep::gpu {

std::optional<std::string> read_small_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (in.bad()) return std::nullopt;
  return std::string(trim(text));
}

std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code problem;
  for (const auto& entry : std::filesystem::directory_iterator(directory, problem)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end(), natural_less);
  return names;
}

std::optional<std::string> module_version_in(std::string_view text) {
  for (std::string_view line : split(text, '\n')) {
    if (!line.starts_with("NVRM version:")) continue;
    for (std::string_view word : split(line, ' ')) {
      const bool digits =
          !word.empty() && word.find_first_not_of("0123456789.") == std::string_view::npos;
      if (digits && word.find('.') != std::string_view::npos) return std::string(word);
    }
  }
  return std::nullopt;
}

JsonObject host_facts(const std::string& root, const std::vector<int>& minors) {
  JsonObject facts;
  if (auto text = read_small_file(root + "/proc/driver/nvidia/version")) {
    if (auto version = module_version_in(*text)) facts["module_version"] = *version;
  }
  if (!facts.contains("module_version")) {
    if (auto version = read_small_file(root + "/sys/module/nvidia/version"))
      facts["module_version"] = *version;
  }
  std::vector<std::string> nodes = {"nvidiactl", "nvidia-uvm"};
  for (int minor : minors) nodes.push_back(fmt::format("nvidia{}", minor));
  JsonArray missing;
  for (const std::string& node : nodes) {
    std::error_code problem;
    if (!std::filesystem::exists(root + "/dev/" + node, problem))
      missing.emplace_back("/dev/" + node);
  }
  facts["missing_nodes"] = std::move(missing);
  return facts;
}

}  // namespace lockstep::gpu

// Runs at build time: writes the files of a catalogue into a C++ source. A file that is not YAML
// stops the build here rather than every run of the program.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "data/json.h"
#include "data/yaml.h"

namespace {

// Templates are Helm's to read.
bool is_template(const std::string& path) {
  return path.find("/manifests/") != std::string::npos ||
         (path.starts_with("hooks/") && !path.ends_with("/values.yaml"));
}

std::string literal(const std::string& text) {
  return "R\"lockstep_text(" + text + ")lockstep_text\"";
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) {
    fmt::print(stderr, "usage: embed_recipes FOLDER OUTPUT\n");
    return 2;
  }
  std::filesystem::path root = arguments[1];
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (entry.is_regular_file()) paths.push_back(entry.path().lexically_relative(root).string());
  }
  std::sort(paths.begin(), paths.end());
  std::string source =
      "#include \"recipes/embedded_catalogue.h\"\n"
      "#pragma GCC diagnostic ignored \"-Woverlength-strings\"\n"
      "namespace lockstep::recipes {\n"
      "const std::vector<EmbeddedFile>& embedded_files() {\n"
      "  static const std::vector<EmbeddedFile> files = {\n";
  for (const std::string& path : paths) {
    std::ifstream in(root / path, std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(in), {}};
    std::string json;
    if (path.ends_with(".yaml") && !is_template(path)) {
      auto value = lockstep::parse_yaml(text, path);
      if (!value) {
        fmt::print(stderr, "{}\n", value.error().text());
        return 1;
      }
      json = lockstep::print_json(*value);
    }
    source += fmt::format("{{{}, {}, {}}},\n", literal(path), literal(text), literal(json));
  }
  source += "  };\n  return files;\n}\n}  // namespace lockstep::recipes\n";
  std::ofstream out(arguments[2], std::ios::binary);
  out << source;
  out.flush();
  return out ? 0 : 1;
}

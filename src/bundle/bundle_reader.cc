#include "bundle/bundle_reader.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/strings.h"
#include "bundle/recipe_file.h"
#include "data/yaml.h"

namespace lockstep::bundle {

namespace {

// "007-gpu-operator" -> "gpu-operator"; a folder without a number is a release's own name.
std::string release_of(std::string_view folder) {
  bool numbered =
      folder.size() > 4 && folder[3] == '-' &&
      std::all_of(folder.begin(), folder.begin() + 3, [](char c) { return c >= '0' && c <= '9'; });
  return std::string(numbered ? folder.substr(4) : folder);
}

class Reader {
 public:
  Reader(const FileMap& files, std::string folder) : files_(files), folder_(std::move(folder)) {}

  Result<void> read(BundleContents& into) {
    for (const auto& [path, text] : files_) {
      if (path == "helmfile.yaml") LOCKSTEP_CHECK(read_helmfile(text, into));
      read_version_line(path, text, into);
      size_t slash = path.find('/');
      if (slash == std::string::npos || path.find('/', slash + 1) != std::string::npos) continue;
      std::string release = release_of(std::string_view(path).substr(0, slash));
      std::string name = path.substr(slash + 1);
      if (name != "values.yaml" && name != "helmrelease.yaml" && name != "application.yaml") {
        continue;
      }
      LOCKSTEP_TRY(Json json, parse_yaml(text, place(path)));
      ReleaseRecords& records = into.records[name];
      records.files[release] = path;
      LOCKSTEP_TRY(records.values[release], values_of(name, json, path));
      const Json* version = name == "helmrelease.yaml"
                                ? find(json, "spec", "chart", "spec", "version")
                            : find(json, "spec", "source", "chart") != nullptr
                                ? find(json, "spec", "source", "targetRevision")
                                : nullptr;
      if (version != nullptr) records.versions[release] = std::string(as_text(version));
    }
    return {};
  }

 private:
  std::string place(const std::string& path) const { return folder_ + "/" + path; }

  Result<JsonObject> values_of(const std::string& name, const Json& json,
                               const std::string& path) const {
    const Json* values = &json;
    Json text_values;
    if (name == "helmrelease.yaml") {
      values = find(json, "spec", "values");
    } else if (name == "application.yaml") {
      values = find(json, "spec", "source", "helm", "values");
      if (values != nullptr && values->is_string()) {
        LOCKSTEP_TRY(text_values, parse_yaml(as_text(values), place(path) + ": helm.values"));
        values = &text_values;
      }
    }
    if (values == nullptr || values->is_null()) return JsonObject();
    if (!values->is_object()) {
      return fail(ErrorKind::invalid, "the values of a release must be a map", place(path));
    }
    return values->get_object();
  }

  // upstream.env is shell, and templates/NNN-x.yaml is Helm's: one line of each is ours to read.
  static void read_version_line(const std::string& path, std::string_view text,
                                BundleContents& into) {
    std::string_view folder;
    std::string_view before;
    if (path.ends_with("/upstream.env")) {
      folder = std::string_view(path).substr(0, path.find('/'));
      before = "VERSION=";
    } else if (path.starts_with("templates/") && path.ends_with(".yaml") &&
               text.find("\n    chart: ") != std::string_view::npos) {
      folder = std::string_view(path).substr(10, path.size() - 15);
      before = "    targetRevision: ";
    } else {
      return;
    }
    for (std::string_view line : split(text, '\n')) {
      if (!line.starts_with(before)) continue;
      std::string_view version = trim(line.substr(before.size()));
      // A version that needs quotes cannot be a version; `lockstep verify` reports it.
      if (version.find_first_of("'\"\\{") != std::string_view::npos) return;
      ReleaseRecords& records = into.records[std::string(before)];
      records.versions[release_of(folder)] = std::string(version);
      records.files[release_of(folder)] = path;
      return;
    }
  }

  // Reads only the versions: the values are in the folders.
  Result<void> read_helmfile(const std::string& text, BundleContents& into) const {
    LOCKSTEP_TRY(std::vector<Json> documents, parse_yaml_stream(text, place("helmfile.yaml")));
    for (const Json& document : documents) {
      const Json* releases = find(document, "releases");
      if (releases == nullptr || !releases->is_array()) continue;
      for (const Json& release : releases->get_array()) {
        const Json* version = find(release, "version");
        if (version == nullptr) continue;
        std::string name(text_at(release, "name"));
        into.records["helmfile.yaml"].versions[name] = std::string(as_text(version));
        into.records["helmfile.yaml"].files[name] = "helmfile.yaml";
      }
    }
    return {};
  }

  const FileMap& files_;
  std::string folder_;
};

}  // namespace

Result<BundleContents> read_contents(const FileMap& files, const CriteriaWords& words,
                                     const std::string& folder) {
  auto recipe = files.find("recipe.yaml");
  if (recipe == files.end()) {
    return fail(ErrorKind::not_found, "has no recipe.yaml: it is no bundle", folder);
  }
  BundleContents contents;
  LOCKSTEP_TRY(YamlFile file, YamlFile::parse(folder + "/recipe.yaml", recipe->second));
  LOCKSTEP_TRY(contents.recipe, read_recipe(file, words));
  LOCKSTEP_CHECK(Reader(files, folder).read(contents));
  return contents;
}

Result<Described> read_bundle(const FileMap& files, const CriteriaWords& words,
                              const std::string& folder) {
  LOCKSTEP_TRY(BundleContents contents, read_contents(files, words, folder));
  Described described;
  described.recipe = std::move(contents.recipe);
  for (auto& [kind, records] : contents.records) {
    for (auto& [release, values] : records.values) {
      described.values.emplace(release, std::move(values));
    }
  }
  return described;
}

}  // namespace lockstep::bundle

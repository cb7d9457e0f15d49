#include "workshop.h"

#include <algorithm>
#include <set>
#include <stdexcept>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "data/yaml.h"
#include "world/files.h"

namespace lockstep::bundles {

namespace {

const Path tools = LOCKSTEP_TEST_TOOLS;

template <typename T>
T need(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().text());
  return std::move(*result);
}

std::string said(const ProcessOutput& run) {
  return fmt::format("exit code {}\n{}{}", run.exit_code, run.output, run.error);
}

}  // namespace

const std::vector<Query>& queries() {
  static const std::vector<Query> all{
      {"flagship",
       {"--service", "eks", "--accelerator", "h100", "--intent", "training", "--os", "ubuntu",
        "--platform", "kubeflow"}},
      {"gke-cos",
       {"--service", "gke", "--accelerator", "h100", "--intent", "training", "--os", "cos"}},
      {"aks-dynamo",
       {"--service", "aks", "--accelerator", "h100", "--intent", "inference", "--os", "ubuntu",
        "--platform", "dynamo"}},
      {"kind", {"--service", "kind", "--accelerator", "h100", "--intent", "training"}},
      {"self-managed-gb200",
       {"--service", "self-managed", "--accelerator", "gb200", "--intent", "training"}},
      {"l40-inference", {"--service", "eks", "--accelerator", "l40", "--intent", "inference"}}};
  return all;
}

const Query& flagship() { return queries().front(); }

Workshop::Workshop() {
  for (const char* name : {"helm", "helmfile"}) {
    if (!std::filesystem::exists(tools / name)) continue;
    std::filesystem::create_symlink(tools / name, directory() / "bin" / name);
  }
}

Path Workshop::bundle(const Query& query, const std::string& deployer,
                      const std::vector<std::string>& more) {
  Path folder = directory() / (query.name + "-" + deployer);
  std::vector<std::string> words{"bundle", "--deployer", deployer, "--output", folder.string()};
  words.insert(words.end(), query.flags.begin(), query.flags.end());
  words.insert(words.end(), more.begin(), more.end());
  ProcessOutput run = cluster_.lockstep(words);
  if (run.exit_code != 0) {
    throw std::runtime_error(fmt::format("lockstep {}: {}", fmt::join(words, " "), said(run)));
  }
  return folder;
}

ProcessOutput Workshop::try_sh(const std::string& script) {
  return cluster_.sh(fmt::format("cd '{}' && {}", directory().string(), script));
}

std::string Workshop::sh(const std::string& script) {
  ProcessOutput run = try_sh(script);
  if (run.exit_code != 0) throw std::runtime_error(script + ": " + said(run));
  return run.output;
}

void Workshop::serve_empty() { cluster_.serve(); }

void Workshop::serve() {
  serve_empty();
  // Argo CD's definition is larger than the annotation of a client-side apply may be.
  sh(fmt::format("kubectl apply --server-side -f '{}'",
                 std::filesystem::canonical(tools / "definitions").string()));
}

ProcessOutput Workshop::try_apply(const std::vector<Json>& objects) {
  std::set<std::string> namespaces;
  for (const Json& object : objects) {
    if (auto ns = text_at(object, "metadata", "namespace"); !ns.empty()) namespaces.emplace(ns);
  }
  std::vector<Json> places;
  for (const std::string& ns : namespaces) {
    places.emplace_back(JsonObject{
        {"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", JsonObject{{"name", ns}}}});
  }
  write(directory() / "namespaces.yaml", print_yaml_stream(places));
  if (!places.empty()) sh("kubectl apply --server-side -f namespaces.yaml");
  write(directory() / "objects.yaml", print_yaml_stream(objects));
  return try_sh("kubectl apply --dry-run=server --validate=strict -f objects.yaml");
}

void Workshop::expect_accepted(const std::vector<Json>& objects, const std::string& what) {
  ProcessOutput run = try_apply(objects);
  EXPECT_EQ(run.exit_code, 0) << what << ": " << said(run);
  EXPECT_EQ(std::ranges::count(run.output, '\n'), static_cast<ptrdiff_t>(objects.size())) << what;
  // kubectl's warnings are what a cluster finds odd: a field that comes twice, an old version.
  EXPECT_EQ(run.error, "") << what;
}

std::string read(const Path& file) { return need(SystemFiles().read(file.string())); }

void write(const Path& file, std::string_view text, bool executable) {
  auto written = SystemFiles().write(file.string(), text, executable ? 0755 : 0644);
  if (!written) throw std::runtime_error(written.error().text());
}

Json yaml(const Path& file) { return need(parse_yaml(read(file), file.string())); }

std::vector<Json> yaml_stream(std::string_view text, const std::string& name) {
  return need(parse_yaml_stream(text, name));
}

std::vector<Path> numbered_folders(const Path& bundle) {
  std::vector<Path> folders;
  for (const auto& entry : std::filesystem::directory_iterator(bundle)) {
    std::string name = entry.path().filename().string();
    bool numbered = name.size() > 4 && name[3] == '-' &&
                    std::ranges::all_of(name.substr(0, 3), [](char c) { return isdigit(c) != 0; });
    if (entry.is_directory() && numbered) folders.push_back(entry.path());
  }
  std::ranges::sort(folders);
  return folders;
}

std::string release_of(const Path& numbered_folder) {
  return numbered_folder.filename().string().substr(4);
}

std::vector<Path> charts_in(const Path& bundle) {
  std::vector<Path> charts;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(bundle)) {
    if (entry.path().filename() == "Chart.yaml") charts.push_back(entry.path().parent_path());
  }
  std::ranges::sort(charts);
  return charts;
}

std::vector<std::string> texts(const Json* list) {
  std::vector<std::string> found;
  if (list == nullptr || !list->is_array()) return found;
  for (const Json& item : list->get_array()) found.emplace_back(as_text(&item));
  return found;
}

std::map<std::string, Json> of_kind(const std::vector<Json>& objects, std::string_view kind) {
  std::map<std::string, Json> found;
  for (const Json& object : objects) {
    if (text_at(object, "kind") == kind)
      found[std::string(text_at(object, "metadata", "name"))] = object;
  }
  return found;
}

std::map<std::string, std::vector<std::string>> dependencies(const Path& bundle) {
  std::map<std::string, std::vector<std::string>> found;
  Json recipe = yaml(bundle / "recipe.yaml");
  const Json* components = find(recipe, "componentRefs");
  if (components == nullptr) throw std::runtime_error("no componentRefs in recipe.yaml");
  for (const Json& component : components->as_array()) {
    found[std::string(text_at(component, "name"))] = texts(find(component, "dependencyRefs"));
  }
  return found;
}

void expect_order(const Path& bundle, const std::vector<std::string>& releases) {
  auto place = [&](const std::string& name) { return std::ranges::find(releases, name); };
  for (const auto& [component, needed] : dependencies(bundle)) {
    EXPECT_NE(place(component), releases.end()) << bundle << " has no release of " << component;
    for (const std::string& name : needed) {
      EXPECT_LT(place(name) - releases.begin(), place(component) - releases.begin())
          << bundle << ": " << component << " does not come after " << name;
    }
  }
}

}  // namespace lockstep::bundles

// Any bytes as one file of a small catalogue, as a resolved recipe, as a snapshot or as settings:
// reading, resolving and bundling must end without a crash, and an error must have words. What is
// bundled must be a bundle: for every deployer its paths stay inside, its checksums fit, its recipe
// and its values can be read back as they were, the guardrail finds nothing in what was derived,
// and it survives being packed as a tar.
//
// The first byte chooses which file: 'a' is the first of `parts`. The second chooses what it is
// asked for and for which deployer, as all of them would take fifteen times as long.
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/strings.h"
#include "bundle/bundle_reader.h"
#include "bundle/checksums.h"
#include "bundle/deployers.h"
#include "bundle/guardrail.h"
#include "bundle/make_bundle.h"
#include "bundle/recipe_file.h"
#include "bundle/tar.h"
#include "bundle/values.h"
#include "data/yaml.h"
#include "document_from_bytes.h"

namespace {

using namespace lockstep;
using namespace lockstep::bundle;
using lockstep::fuzz::require;

// What is not a path of the catalogue is a document of its own.
constexpr std::array<std::string_view, 15> parts = {"registry.yaml",
                                                    "overlays/base.yaml",
                                                    "overlays/eks.yaml",
                                                    "mixins/extra.yaml",
                                                    "derived.yaml",
                                                    "hooks.yaml",
                                                    "releases.yaml",
                                                    "criteria.yaml",
                                                    "components/operator/values.yaml",
                                                    "components/tuning/manifests/t.yaml",
                                                    "hooks/roll/values.yaml",
                                                    "overlays/another.yaml",
                                                    "(recipe)",
                                                    "(snapshot)",
                                                    "(settings)"};

FileMap small_catalogue() {
  return {
      {"criteria.yaml",
       "kind: CriteriaWords\n"
       "service: {words: [eks, gke], aliases: {vanilla: any}}\n"
       "accelerator: {words: [h100]}\n"
       "intent: {words: [training]}\n"
       "os: {words: [ubuntu]}\n"
       "platform: {words: [kubeflow]}\n"},
      {"registry.yaml",
       "kind: ComponentRegistry\n"
       "components:\n"
       "  - name: operator\n"
       "    valueOverrideKeys: [op]\n"
       "    helm: {defaultRepository: https://charts, defaultChart: nvidia/operator,\n"
       "           defaultNamespace: operator-system}\n"
       "    nodeScheduling: {accelerated: {tolerationPaths: [daemonsets.tolerations]}}\n"
       "  - name: plugin\n"
       "    helm: {defaultRepository: oci://charts, defaultChart: plugin, defaultVersion: v9,\n"
       "           defaultNamespace: plugin}\n"
       "  - name: tuning\n"
       "    helm: {defaultRepository: '', defaultNamespace: tuning}\n"
       "  - name: kustom\n"
       "    kustomize: {defaultSource: https://git, defaultPath: deploy, defaultTag: v4}\n"},
      {"overlays/base.yaml",
       "kind: RecipeMetadata\n"
       "metadata: {name: base}\n"
       "spec:\n"
       "  constraints: [{name: K8s.server.version, value: '>= 1.25'}]\n"
       "  componentRefs:\n"
       "    - {name: operator, type: Helm, version: v1.0}\n"
       "    - {name: plugin, type: Helm, dependencyRefs: [operator]}\n"},
      {"overlays/eks.yaml",
       "kind: RecipeMetadata\n"
       "metadata: {name: eks}\n"
       "spec:\n"
       "  criteria: {service: eks}\n"
       "  mixins: [extra]\n"
       "  constraints: [{name: OS.release.ID, value: ubuntu}]\n"
       "  componentRefs:\n"
       "    - name: operator\n"
       "      version: v1.1\n"
       "      overrides: {driver: {version: '580'}, x: null}\n"
       "    - {name: tuning, manifestFiles: [components/tuning/manifests/t.yaml]}\n"},
      {"mixins/extra.yaml",
       "kind: RecipeMixin\n"
       "metadata: {name: extra}\n"
       "spec:\n"
       "  componentRefs:\n"
       "    - {name: kustom, type: Kustomize, dependencyRefs: [operator]}\n"},
      {"derived.yaml",
       "- name: plugin-follows-operator\n"
       "  from: {component: operator, field: version}\n"
       "  to: {component: plugin, paths: [[podAnnotations, a.b/version]]}\n"
       "  when: [operator, plugin]\n"
       "- name: plugin-follows-driver\n"
       "  from: {component: operator, value: [driver, version], notIfFalse: [driver, enabled]}\n"
       "  optional: true\n"
       "  to: {component: plugin, paths: [[podAnnotations, driver]]}\n"
       "  when: [operator, plugin]\n"},
      {"hooks.yaml",
       "- name: roll\n"
       "  component: operator\n"
       "  when: [operator, plugin]\n"
       "  after: [plugin]\n"
       "  values: hook\n"
       "  defaults: hooks/roll/values.yaml\n"
       "  manifests: [hooks/roll/job.yaml]\n"
       "  timeout: 30m\n"
       "  restart:\n"
       "    pluginNamespace: {component: plugin}\n"
       "    pluginSelector: app=plugin\n"
       "    driverNamespace: {component: operator}\n"
       "    driverSelector: app=driver\n"},
      {"releases.yaml",
       "- {component: operator, wait: true, waitForJobs: true, timeout: 15m}\n"
       "- {component: plugin, wait: false}\n"},
      {"components/operator/values.yaml",
       "driver: {enabled: true, version: '570'}\nlist: [a, b]\n"},
      {"components/tuning/manifests/t.yaml", "kind: ConfigMap\nx: {{ .Values.tuning.x }}\n"},
      {"hooks/roll/values.yaml", "enabled: true\n"},
      {"hooks/roll/job.yaml", "kind: Job\n"},
  };
}

// All files but the fuzzer's are parsed once.
const Layer& small_layer() {
  static const Layer layer = [] {
    Layer made{"data", small_catalogue(), {}};
    for (const auto& [path, text] : made.files) {
      if (auto json = parse_yaml(text, path)) made.json[path] = print_json(*json);
    }
    return made;
  }();
  return layer;
}

template <typename T>
bool is_good(const Result<T>& result) {
  if (result) return true;
  require(!result.error().message.empty(), "an error has words");
  return false;
}

void check_paths(const BundleFiles& files) {
  for (const auto& [path, file] : files) {
    require(!path.empty() && path.front() != '/', "paths are relative");
    for (std::string_view part : split(path, '/')) {
      require(!part.empty() && part != "." && part != "..", "paths stay inside");
    }
  }
}

void check_bundle_of(const Catalogue& catalogue, const Rules& rules, const BundleModel& model,
                     BundleFiles files) {
  check_paths(files);
  const std::string list = checksums(files);
  files[std::string(checksums_file)] = {list, false};
  const auto verified = verify(list, files);
  require(verified && verified->is_intact(), "what was written is intact");
  const auto unpacked = read_tar(write_tar(files));
  require(unpacked && *unpacked == files, "a tar holds the same files");

  FileMap texts;
  for (const auto& [path, file] : files) texts[path] = file.content;
  const auto read = read_bundle(texts, catalogue.words, "bundle");
  if (!read) std::fprintf(stderr, "%s\n", read.error().text().c_str());
  require(read.has_value(), "a bundle can be read back");
  require(to_json(read->recipe) == to_json(model.recipe), "with the same recipe");
  for (const Release& release : model.releases) {
    const auto values = read->values.find(release.name);
    if (values == read->values.end()) continue;
    require(values->second == release.values, "and the same values");
  }
  const auto findings = check_bundle(rules, texts, catalogue.words, "bundle");
  if (!is_good(findings)) return;
  for (const Finding& finding : *findings) {
    require(!finding.what.empty() && !finding.place.empty(), "a finding has words");
  }
}

void check_recipe_of(const Catalogue& catalogue, const Rules& rules, BundleRequest request,
                     size_t choice) {
  for (const ComponentRef& component : request.recipe.components) {
    (void)is_good(component_values(catalogue, component));
  }
  for (const Finding& finding : check_recipe(rules, request.recipe, "recipe")) {
    require(!finding.what.empty(), "a finding has words");
  }
  const std::string text = print_yaml(to_json(request.recipe));
  const auto file = YamlFile::parse("again.yaml", text);
  require(file.has_value(), "a printed recipe is YAML");
  const auto again = read_recipe(*file, catalogue.words);
  if (!again) std::fprintf(stderr, "%s\n%s\n", again.error().text().c_str(), text.c_str());
  require(again.has_value(), "a printed recipe can be read");
  require(to_json(*again) == to_json(request.recipe), "and is the same");

  const auto made = make_bundle(catalogue, rules, request);
  if (!is_good(made)) return;
  const auto by_helm = deployers().front().write(made->model);
  auto files = deployers()[choice % deployers().size()].write(made->model);
  require(is_good(files) == is_good(by_helm), "all deployers can, or none");
  if (files) check_bundle_of(catalogue, rules, made->model, std::move(*files));
}

void check_layer(const Layer& layer, size_t choice) {
  const auto catalogue = Catalogue::read({layer});
  if (!is_good(catalogue)) return;
  const auto rules = read_rules(*catalogue);
  if (!is_good(rules)) return;
  (void)is_good(check_catalogue(*rules, *catalogue));
  static const std::array<Criteria, 3> queries = {
      Criteria{}, Criteria{.service = "eks"},
      Criteria{.service = "eks", .accelerator = "h100", .intent = "training", .os = "ubuntu"}};
  auto recipe = resolve(*catalogue, queries[choice / deployers().size() % queries.size()]);
  if (!is_good(recipe)) return;
  BundleRequest request;
  request.recipe = std::move(*recipe);
  check_recipe_of(*catalogue, *rules, std::move(request), choice);
}

struct Ready {
  Catalogue catalogue;
  Rules rules;
};

const Ready& ready() {
  static const Ready made = [] {
    Ready fresh;
    fresh.catalogue = *Catalogue::read({small_layer()});
    fresh.rules = *read_rules(fresh.catalogue);
    return fresh;
  }();
  return made;
}

void check_recipe_text(const std::string& text, size_t choice) {
  const auto file = YamlFile::parse("recipe.yaml", text);
  if (!is_good(file)) return;
  auto recipe = read_recipe(*file, ready().catalogue.words);
  if (!is_good(recipe)) return;
  BundleRequest request;
  request.recipe = std::move(*recipe);
  check_recipe_of(ready().catalogue, ready().rules, std::move(request), choice);
}

void check_snapshot_text(const std::string& text) {
  auto file = YamlFile::parse("snapshot.yaml", text);
  if (!is_good(file)) return;
  const auto snapshot = Snapshot::read(std::move(*file));
  if (!is_good(snapshot)) return;
  const Criteria criteria = criteria_of(*snapshot, ready().catalogue.words);
  const auto recipe = resolve(ready().catalogue, criteria, &*snapshot);
  require(recipe.has_value(), "criteria of a snapshot are known words");
}

// One line each, as after --set, --set-string and --set-json in turn.
void check_settings_text(const std::string& text, size_t choice) {
  BundleRequest request;
  request.recipe = *resolve(ready().catalogue, {.service = "eks"});
  int kind = 0;
  for (std::string_view line : split(text, '\n')) {
    constexpr std::array kinds = {SettingKind::typed, SettingKind::text, SettingKind::json};
    auto setting = parse_setting(line, kinds[static_cast<size_t>(kind++ % 3)]);
    if (!is_good(setting)) continue;
    const auto path = parse_value_path(print_value_path(setting->path));
    require(path && *path == setting->path, "a printed path is the same path");
    request.settings.push_back(std::move(*setting));
  }
  check_recipe_of(ready().catalogue, ready().rules, std::move(request), choice);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  constexpr size_t letter = 'a';
  const std::string_view part = parts[(data[0] + parts.size() * letter - letter) % parts.size()];
  const size_t choice = data[1] + 15 * letter - letter;
  std::string text(reinterpret_cast<const char*>(data) + 2, size - 2);
  if (part == "(recipe)") {
    check_recipe_text(text, choice);
  } else if (part == "(snapshot)") {
    check_snapshot_text(text);
  } else if (part == "(settings)") {
    check_settings_text(text, choice);
  } else {
    Layer layer = small_layer();
    layer.json.erase(std::string(part));
    layer.files[std::string(part)] = std::move(text);
    check_layer(layer, choice);
  }
  return 0;
}

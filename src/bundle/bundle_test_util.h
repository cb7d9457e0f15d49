// A small catalogue for tests, as text.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "bundle/catalogue.h"

namespace lockstep::bundle {

inline std::string overlay_text(const std::string& name, const std::string& spec) {
  return "kind: RecipeMetadata\nmetadata: {name: " + name + "}\nspec:\n" + spec;
}

inline std::string mixin_text(const std::string& name, const std::string& spec) {
  return "kind: RecipeMixin\nmetadata: {name: " + name + "}\nspec:\n" + spec;
}

// Three Helm components, one of manifests alone, one of Kustomize; and the words of criteria.
inline FileMap small_files() {
  return {
      {"criteria.yaml",
       "kind: CriteriaWords\n"
       "service: {words: [eks, gke], aliases: {vanilla: any}}\n"
       "accelerator: {words: [h100, a100]}\n"
       "intent: {words: [training, inference]}\n"
       "os: {words: [ubuntu, cos]}\n"},
      {"registry.yaml",
       "kind: ComponentRegistry\n"
       "components:\n"
       "  - name: operator\n"
       "    valueOverrideKeys: [op]\n"
       "    helm: {defaultRepository: https://charts, defaultChart: nvidia/operator,\n"
       "           defaultNamespace: operator-system}\n"
       "  - name: driver\n"
       "    helm: {defaultRepository: https://charts, defaultChart: driver, defaultVersion: v9}\n"
       "  - name: monitor\n"
       "    helm: {defaultRepository: https://charts, defaultChart: monitor, defaultVersion: v3}\n"
       "  - name: tuning\n"
       "    helm: {defaultRepository: '', defaultNamespace: tuning}\n"
       "  - name: kustom\n"
       "    kustomize: {defaultSource: https://git, defaultPath: deploy, defaultTag: v4}\n"},
      {"overlays/base.yaml",
       overlay_text("base",
                    "  constraints: [{name: K8s.server.version, value: '>= 1.25'}]\n"
                    "  componentRefs:\n"
                    "    - {name: operator, type: Helm, version: v1.0,\n"
                    "       valuesFile: components/operator/values.yaml}\n"
                    "    - {name: driver, type: Helm, dependencyRefs: [operator]}\n")},
      {"components/operator/values.yaml", "driver: {enabled: true, version: 1}\nlist: [a, b]\n"},
      {"components/tuning/manifests/t.yaml", "kind: ConfigMap\n"},
  };
}

inline FileMap with(FileMap files, std::vector<std::pair<std::string, std::string>> more) {
  for (auto& [path, text] : more) files[path] = std::move(text);
  return files;
}

inline Catalogue catalogue_of(FileMap files) {
  auto catalogue = Catalogue::read({{"", std::move(files)}});
  EXPECT_TRUE(catalogue.has_value()) << catalogue.error().text();
  return catalogue ? std::move(*catalogue) : Catalogue{};
}

}  // namespace lockstep::bundle

// A table of releases of every kind for tests of deployers, and the values that a bundle hands
// Helm, read back from its files.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "bundle/release.h"
#include "data/json.h"
#include "data/yaml.h"

namespace lockstep::bundle {

inline JsonObject values_of(std::string_view yaml) {
  auto json = parse_yaml(yaml);
  EXPECT_TRUE(json.has_value()) << json.error().text();
  return json && json->is_object() ? json->get_object() : JsonObject{};
}

// operator (not waited for) <- plugin (oci) <- operator-post (local); kustom (kustomize).
inline BundleModel sample_model() {
  BundleModel model;
  model.recipe.applied_overlays = {"base"};
  model.recipe.deployment_order = {"certificates", "operator", "plugin", "kustom"};

  Release certificates;
  certificates.name = certificates.component = "certificates";
  certificates.display_name = "Certificates";
  certificates.ns = "certificates";
  certificates.repository = "https://charts.example.com/stable";
  certificates.chart = "certificates";
  certificates.version = "v1.2.3";
  certificates.values = values_of("crds: {enabled: true}\nreplicas: 1000000\nratio: 0.5\n");

  Release op;
  op.name = op.component = "operator";
  op.display_name = "The Operator";
  op.ns = "operator-system";
  op.repository = "https://charts.example.com/stable";
  op.chart = "operator";
  op.version = "v26.3.1";
  op.values = values_of("driver: {version: '580.10', limits: null}\nlist: [1, two, {three: 3}]\n");
  op.needs = {"certificates"};
  op.wait = false;

  Release plugin;
  plugin.name = plugin.component = "plugin";
  plugin.ns = "plugin-system";
  plugin.repository = "oci://registry.example.com/charts";
  plugin.chart = "plugin";
  plugin.version = "25.12.0";
  plugin.values = values_of("text: |\n  one\n\n  three\non: 'yes'\nempty: {}\nnone: []\n");
  plugin.needs = {"operator"};
  plugin.wait_for_jobs = true;
  plugin.timeout_seconds = 900;

  Release post;
  post.name = "operator-post";
  post.component = "operator";
  post.ns = "operator-system";
  post.kind = ReleaseKind::local;
  post.templates = {{"job.yaml", "kind: Job\nmetadata: {name: '{{ .Release.Name }}'}\n"}};
  post.values = values_of("operator: {driver: {version: '580.10'}}\n");
  post.needs = {"operator", "plugin"};
  post.timeout_seconds = 1800;

  Release kustom;
  kustom.name = kustom.component = "kustom";
  kustom.ns = "kustom-system";
  kustom.kind = ReleaseKind::kustomize;
  kustom.source = "https://git.example.com/kustom.git";
  kustom.path = "deploy/base";
  kustom.tag = "v4.0";
  kustom.needs = {"certificates"};

  model.releases = {certificates, op, plugin, post, kustom};
  model.restarts = {{"operator-post", "plugin-system", "app=plugin,part=node", "operator-system",
                     "app=driver", 1200, 300}};
  model.git_repository = "https://git.example.com/fleet.git";
  model.git_path = "clusters/one";
  return model;
}

// Every character that has a meaning to a shell, to YAML, to templates or to Markdown.
constexpr std::string_view nasty_text =
    "a $(touch x) `id` \"q\" 'r' {{ .Values }} {{- fail \"x\" }} }} # c: [d] \\ | > & ; "
    "$HOME * ~ %s %q é ☃ <b> !";

// The same for a chart and a version, which may hold no template.
inline std::string nasty_version() {
  std::string text(nasty_text);
  for (size_t at = 0; (at = text.find("{{", at)) != std::string::npos;) text.erase(at, 2);
  return text;
}

inline BundleModel nasty_model() {
  BundleModel model = sample_model();
  const std::string nasty(nasty_text);
  for (Release& release : model.releases) {
    release.component = release.display_name = nasty + "\nsecond\tline\x01";
    release.chart = release.version = nasty_version();
    release.chart_version = nasty;
    release.repository = (release.repository.starts_with("oci://") ? "oci://" : "https://") + nasty;
    release.source = "https://" + nasty;
    release.path = release.tag = nasty;
    release.values[nasty] = nasty + "\nsecond line\n\n  third\n";
    release.values["list"] = JsonArray({Json(nasty), Json(nullptr), Json("{{"), Json("on")});
    if (!release.templates.empty()) release.templates["nasty $(id).yaml"] = nasty;
  }
  for (GuardedRestart& restart : model.restarts) {
    restart.plugin_selector = restart.driver_selector = nasty;
  }
  model.git_repository = "https://" + nasty;
  model.git_revision = model.git_path = nasty;
  return model;
}

inline const std::string& content(const BundleFiles& files, const std::string& path) {
  static const std::string nothing;
  const auto file = files.find(path);
  EXPECT_NE(file, files.end()) << "there is no " << path;
  return file == files.end() ? nothing : file->second.content;
}

inline Json yaml_at(const BundleFiles& files, const std::string& path) {
  auto json = parse_yaml(content(files, path), path);
  EXPECT_TRUE(json.has_value()) << json.error().text();
  return json ? *json : Json();
}

}  // namespace lockstep::bundle

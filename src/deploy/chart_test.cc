#include "deploy/chart.h"

#include <set>

#include <gtest/gtest.h>

#include "data/yaml.h"
#include "deploy/manifest_kinds.h"

namespace lockstep::deploy::chart_test {
namespace {

ChartFiles small_chart() {
  return {
      {"Chart.yaml", "name: small\nversion: 1.2.3\nappVersion: 4.5.6\n"},
      {"values.yaml", "replicas: 2\nlabels: {a: b}\nlist: [1, 2]\n"},
      {"values.schema.json", R"({
              "type": "object",
              "required": ["replicas"],
              "additionalProperties": false,
              "properties": {
                "replicas": {"type": "integer"}, "labels": {"type": "object"}, "list": {"type": "array"}
              }})"},
      {"templates/_names.tpl", "{{ define \"n\" }}{{ .Release.Name }}-x{{ end }}"},
      {"templates/NOTES.txt", "{{ nobody reads this }}"},
      {"templates/b.yaml",
       "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {{ include \"n\" . }}\n"
       "  namespace: {{ .Release.Namespace }}\nspec:\n  replicas: {{ int .Values.replicas }}\n"},
      {"templates/c.yaml",
       "{{ if .Values.labels }}\napiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: a\n"
       "---\napiVersion: v1\nkind: Service\nmetadata:\n  name: v{{ .Chart.AppVersion }}\n{{ end "
       "}}"}};
}

Json yaml(std::string_view text) { return *parse_yaml(text); }

std::string names(const Result<std::vector<Manifest>>& manifests) {
  if (!manifests) return "error " + manifests.error().text();
  std::string text;
  for (const Manifest& manifest : *manifests) text += describe(manifest.object) + ";";
  return text;
}

TEST(Chart, ObjectsComeInTheOrderInWhichTheyAreApplied) {
  auto chart = Chart::read(small_chart());
  ASSERT_TRUE(chart) << chart.error().text();
  auto manifests = chart->render({"rel", "ns"}, *chart->values({}));
  EXPECT_EQ(names(manifests), "ServiceAccount a;Service v4.5.6;Deployment ns/rel-x;");
  EXPECT_EQ(manifests->front().source, "small/templates/c.yaml");
  EXPECT_EQ(as_integer(find(manifests->back().object, "spec", "replicas")), 2);
}

TEST(Chart, LaterLayersWinKeyByKeyAndANullTakesADefaultAway) {
  auto chart = Chart::read(small_chart());
  ASSERT_TRUE(chart);
  auto values = chart->values(
      {yaml("{replicas: 3, labels: {c: d}}"), Json(nullptr), yaml("{replicas: 4, list: [7]}")});
  ASSERT_TRUE(values) << values.error().text();
  EXPECT_EQ(print_json(*values), R"({"replicas":4,"labels":{"a":"b","c":"d"},"list":[7]})");
  EXPECT_EQ(print_json(*chart->values({yaml("{labels: {a: null, z: null}}")})),
            R"({"replicas":2,"labels":{"z":null},"list":[1,2]})");
  auto without = chart->values({yaml("{labels: null}")});
  ASSERT_TRUE(without);
  EXPECT_EQ(names(chart->render({"rel", "ns"}, *without)), "Deployment ns/rel-x;");
}

TEST(Chart, WrongValuesAreAllNamed) {
  auto chart = Chart::read(small_chart());
  ASSERT_TRUE(chart);
  auto values = chart->values({yaml("{replicas: many, lables: {}}")});
  ASSERT_FALSE(values);
  EXPECT_EQ(values.error().text(),
            "values: replicas must be a whole number; it is \"many\"; lables: unknown field; did "
            "you mean \"labels\"?");
  EXPECT_EQ(chart->values({yaml("{replicas: null}")}).error().text(),
            "values: replicas is missing");
  EXPECT_FALSE(chart->values({yaml("[1]")}));
}

TEST(Chart, ABadTemplateOrObjectIsNamedByItsFile) {
  ChartFiles files = small_chart();
  files["templates/b.yaml"] = "\n{{ if }}";
  EXPECT_EQ(Chart::read(files).error().text(), "templates/b.yaml:2: a value is missing");
  files["templates/b.yaml"] = "apiVersion: v1\nkind: Secret\n";
  auto chart = Chart::read(files);
  ASSERT_TRUE(chart);
  EXPECT_EQ(names(chart->render({}, *chart->values({}))),
            "error small/templates/b.yaml: objects of kind v1 Secret cannot be installed");
  files["templates/b.yaml"] = "a: [";
  EXPECT_NE(
      names(Chart::read(files)->render({}, *chart->values({}))).find("error templates/b.yaml"),
      std::string::npos);
  for (const char* needed : {"Chart.yaml", "values.yaml", "values.schema.json"}) {
    ChartFiles less = small_chart();
    less.erase(needed);
    EXPECT_FALSE(Chart::read(less)) << needed;
  }
}

TEST(Chart, NamesThatKubernetesWouldRefuseAreRefused) {
  auto chart = Chart::read(small_chart());
  ASSERT_TRUE(chart);
  Json values = *chart->values({});
  EXPECT_FALSE(chart->render({"Upper", "ns"}, values));
  EXPECT_FALSE(chart->render({std::string(54, 'a'), "ns"}, values));
  EXPECT_FALSE(chart->render({"rel", "a/b"}, values));
  EXPECT_FALSE(chart->render({"rel", ""}, values));
}

TEST(Chart, PrintedManifestsReadBackAsTheSame) {
  auto chart = Chart::read(embedded_chart());
  ASSERT_TRUE(chart) << chart.error().text();
  auto manifests = chart->render(
      {}, *chart->values({yaml("{image: {repository: registry.example.com/lockstep}}")}));
  ASSERT_TRUE(manifests) << manifests.error().text();
  auto read = parse_yaml_stream(print_manifests(*manifests));
  ASSERT_TRUE(read) << read.error().text();
  ASSERT_EQ(read->size(), manifests->size());
  for (size_t i = 0; i < read->size(); ++i)
    EXPECT_TRUE(json_equal((*read)[i], (*manifests)[i].object)) << i;
}

TEST(Chart, OursIsInsideTheProgramWithAllItsObjects) {
  auto chart = Chart::read(embedded_chart());
  ASSERT_TRUE(chart) << chart.error().text();
  EXPECT_EQ(chart->name(), "lockstep");
  auto values = chart->values(
      {yaml("{metrics: {serviceMonitor: {enabled: true}, prometheusRule: {enabled: true}}, "
            "draPlugin: {enabled: true}, image: {repository: registry.example.com/lockstep}}")});
  ASSERT_TRUE(values) << values.error().text();
  auto manifests = chart->render({}, *values);
  ASSERT_TRUE(manifests) << manifests.error().text();
  std::set<std::string> kinds;
  for (const Manifest& manifest : *manifests) kinds.emplace(text_at(manifest.object, "kind"));
  std::set<std::string> all;
  for (const ResourceType& type : installed_kinds()) all.insert(type.kind);
  EXPECT_EQ(kinds, all) << "a kind that the chart never makes needs no place in the table";
}

// What gates must not connect to.
TEST(Chart, TellsTheControllerItsAddressesAndItsService) {
  auto chart = Chart::read(embedded_chart());
  ASSERT_TRUE(chart) << chart.error().text();
  auto manifests = chart->render(
      {"gpu", "upgrades"}, *chart->values({yaml("{image: {repository: registry.example.com/x}}")}));
  ASSERT_TRUE(manifests) << manifests.error().text();
  std::string environment;
  std::set<std::string> services;
  for (const Manifest& manifest : *manifests) {
    const std::string_view kind = text_at(manifest.object, "kind");
    if (kind == "Service") services.emplace(text_at(manifest.object, "metadata", "name"));
    if (kind != "Deployment") continue;
    const Json* containers = find(manifest.object, "spec", "template", "spec", "containers");
    ASSERT_NE(containers, nullptr);
    environment = print_json(*find(containers->get_array().front(), "env"));
  }
  EXPECT_EQ(environment,
            R"([{"name":"POD_IPS","valueFrom":{"fieldRef":{"fieldPath":"status.podIPs"}}},)"
            R"({"name":"POD_SERVICE","value":"gpu-controller.upgrades"}])");
  EXPECT_TRUE(services.contains("gpu-controller"));
}

TEST(Chart, OursAsksForAnImageInsteadOfNamingOneThatNobodyPublishes) {
  auto chart = Chart::read(embedded_chart());
  ASSERT_TRUE(chart) << chart.error().text();
  auto manifests = chart->render({}, *chart->values({}));
  ASSERT_FALSE(manifests);
  EXPECT_NE(manifests.error().text().find("lockstep install --image"), std::string::npos)
      << manifests.error().text();
}

}  // namespace
}  // namespace lockstep::deploy::chart_test

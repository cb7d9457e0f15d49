#include "bundle/catalogue.h"

#include <gtest/gtest.h>

#include "bundle/bundle_test_util.h"

namespace lockstep::bundle::catalogue_test {
namespace {

std::string error_of(FileMap files, std::string layer = "") {
  auto catalogue = Catalogue::read({{std::move(layer), std::move(files)}});
  return catalogue ? "" : catalogue.error().text();
}

std::string error_with(const std::string& path, const std::string& text) {
  return error_of(with(small_files(), {{path, text}}));
}

TEST(Catalogue, IsReadFromFiles) {
  Catalogue catalogue = catalogue_of(with(
      small_files(), {{"overlays/eks.yaml", overlay_text("eks", "  criteria: {service: eks}\n")},
                      {"overlays/deep/h100-eks.yaml",
                       overlay_text("h100-eks", "  base: eks\n  criteria: {accelerator: h100}\n")},
                      {"mixins/m.yaml", mixin_text("m", "  constraints: []\n")},
                      {"README.md", "text"},
                      {"checks/x.yaml", "anything: 1"},
                      {"other/x.yaml", "anything: 1"}}));
  EXPECT_EQ(catalogue.base.name, "base");
  EXPECT_EQ(catalogue.overlays.size(), 2u);
  EXPECT_EQ(catalogue.mixins.size(), 1u);
  EXPECT_EQ(catalogue.files.size(), 2u);
  const Overlay& eks = catalogue.overlays.at("eks");
  const Overlay& leaf = catalogue.overlays.at("h100-eks");
  EXPECT_EQ(catalogue.chain(leaf), (std::vector<const Overlay*>{&eks, &leaf}));
  EXPECT_TRUE(catalogue.is_ancestor(eks, leaf));
  EXPECT_FALSE(catalogue.is_ancestor(leaf, eks));
  EXPECT_FALSE(catalogue.is_ancestor(eks, eks));
}

TEST(Catalogue, ALayerAboveReplacesFilesAndAddsToTheRegistry) {
  Layer mine{"mine",
             {{"registry.yaml", "kind: ComponentRegistry\ncomponents: [{name: extra}]\n"},
              {"criteria.yaml", "kind: CriteriaWords\nservice: {words: [ncp]}\n"},
              {"components/operator/values.yaml", "mine: true\n"},
              {"overlays/ncp.yaml", overlay_text("ncp", "  criteria: {service: ncp}\n")}}};
  auto catalogue = Catalogue::read({{"recipes", small_files()}, mine});
  ASSERT_TRUE(catalogue.has_value()) << catalogue.error().text();
  EXPECT_EQ(catalogue->registry.components().size(), 6u);
  EXPECT_EQ(catalogue->files.at("components/operator/values.yaml"), "mine: true\n");
  EXPECT_EQ(catalogue->places.at("components/operator/values.yaml"),
            "mine/components/operator/values.yaml");
  EXPECT_EQ(catalogue->overlays.at("ncp").file, "mine/overlays/ncp.yaml");
}

TEST(Catalogue, RefusesWhatIsWrongInAnyFile) {
  struct Case {
    std::string path, text, error;
  };
  std::string components = "  componentRefs:\n    - ";
  for (const Case& c : std::vector<Case>{
           {"overlays/x.yaml", overlay_text("x", components + "{name: oprator}\n"),
            "overlays/x.yaml:5:7: unknown component \"oprator\"; did you mean \"operator\"?"},
           {"overlays/x.yaml",
            overlay_text("x", components + "{name: driver, dependencyRefs: [zzz]}\n"),
            "overlays/x.yaml:5:7: driver depends on \"zzz\", which the registry does not have; "
            "expected one of: driver, kustom, monitor, operator, tuning"},
           {"overlays/x.yaml",
            overlay_text(
                "x", components + "{name: driver, valuesFile: components/operator/value.yaml}\n"),
            "overlays/x.yaml:5:7: driver names the file \"components/operator/value.yaml\", which "
            "is not in the catalogue; did you mean \"components/operator/values.yaml\"?"},
           {"overlays/x.yaml",
            overlay_text("x", components + "{name: driver, manifestFiles: [../../etc/passwd]}\n"),
            "overlays/x.yaml:5:7: driver names the file \"../../etc/passwd\", which is not in the "
            "catalogue; expected one of: components/operator/values.yaml, "
            "components/tuning/manifests/t.yaml"},
           {"overlays/x.yaml", overlay_text("x", "  base: esk\n"),
            "overlays/x.yaml: the base \"esk\" of x does not exist; expected x"},
           {"overlays/x.yaml", overlay_text("x", "  base: x\n"),
            "overlays/x.yaml: overlays are each other's base in a circle: x -> x"},
           {"overlays/x.yaml", overlay_text("x", "  mixins: [m]\n"),
            "overlays/x.yaml: unknown mixin \"m\""},
           {"overlays/x.yaml", overlay_text("base", "  criteria: {}\n"),
            "overlays/x.yaml: the name \"base\" belongs to overlays/base.yaml and to no other "
            "overlay"},
           {"overlays/base.yaml", overlay_text("other", "  mixins: []\n"),
            "overlays/base.yaml: the name \"base\" belongs to overlays/base.yaml and to no other "
            "overlay"},
           {"overlays/base.yaml", overlay_text("base", "  criteria: {service: eks}\n"),
            "overlays/base.yaml: the base of all has neither base nor criteria"},
           {"mixins/m.yaml", mixin_text("m", components + "{name: oprator}\n"),
            "mixins/m.yaml:5:7: unknown component \"oprator\"; did you mean \"operator\"?"},
           {"overlay/x.yaml", "a: 1\n",
            "overlay/x.yaml: unknown folder \"overlay\"; did you mean \"overlays\"?"},
       }) {
    EXPECT_EQ(error_with(c.path, c.text), c.error);
  }
}

TEST(Catalogue, RefusesTwoOfOneName) {
  EXPECT_EQ(
      error_of(with(small_files(), {{"overlays/a.yaml", overlay_text("x", "  mixins: []\n")},
                                    {"overlays/b.yaml", overlay_text("x", "  mixins: []\n")}})),
      "overlays/b.yaml: a second overlay with the name x: the first is overlays/a.yaml");
  EXPECT_EQ(
      error_of(with(small_files(), {{"mixins/a.yaml", mixin_text("x", "  constraints: []\n")},
                                    {"mixins/b.yaml", mixin_text("x", "  constraints: []\n")}})),
      "mixins/b.yaml: a second mixin with the name x: the first is mixins/a.yaml");
}

TEST(Catalogue, NeedsARegistryAndABase) {
  FileMap files = small_files();
  files.erase("overlays/base.yaml");
  EXPECT_EQ(error_of(files), "the catalogue has no overlays/base.yaml");
  files = small_files();
  files.erase("registry.yaml");
  EXPECT_EQ(error_of(files), "the catalogue has no registry.yaml with components");
  EXPECT_EQ(error_of(with(small_files(), {{"registry.yaml", "kind: ["}}), "mine").substr(0, 18),
            "mine/registry.yaml");
}

TEST(Catalogue, ShowsTheWholeCircleOfBases) {
  EXPECT_EQ(error_of(with(small_files(), {{"overlays/a.yaml", overlay_text("a", "  base: b\n")},
                                          {"overlays/b.yaml", overlay_text("b", "  base: c\n")},
                                          {"overlays/c.yaml", overlay_text("c", "  base: a\n")}})),
            "overlays/a.yaml: overlays are each other's base in a circle: a -> b -> c -> a");
}

}  // namespace
}  // namespace lockstep::bundle::catalogue_test

#include "bundle/overlay.h"

#include <fmt/format.h>

namespace lockstep::bundle {

namespace {

void read_header(StrictReader& object, std::string_view kind, std::string& name) {
  object.must_be("kind", kind);
  object.unused({"apiVersion"}).required("metadata").required("spec");
  object.within("metadata", [&](StrictReader& metadata) {
    metadata.text("name", name).required("name").unused({"labels", "annotations", "description"});
  });
}

}  // namespace

Result<Overlay> read_overlay(const YamlFile& file, const CriteriaWords& words) {
  Overlay overlay;
  overlay.file = file.name();
  LOCKSTEP_CHECK(read_strictly(file, [&](StrictReader& object) {
    read_header(object, "RecipeMetadata", overlay.name);
    object.within("spec", [&](StrictReader& spec) {
      spec.text("base", overlay.base).texts("mixins", overlay.mixins);
      spec.within("criteria", [&](StrictReader& criteria) {
        read_criteria(criteria, words, overlay.criteria.emplace());
      });
      read_constraints_and_components(spec, overlay.spec);
      read_validation(spec, overlay.spec);
    });
  }));
  return overlay;
}

Result<Mixin> read_mixin(const YamlFile& file) {
  Mixin mixin;
  mixin.file = file.name();
  LOCKSTEP_CHECK(read_strictly(file, [&](StrictReader& object) {
    read_header(object, "RecipeMixin", mixin.name);
    object.within("spec",
                  [&](StrictReader& spec) { read_constraints_and_components(spec, mixin.spec); });
  }));
  return mixin;
}

}  // namespace lockstep::bundle

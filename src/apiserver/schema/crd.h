// CustomResourceDefinitions: what they add to the table. (prepare_crd is declared in resources.h,
// schema_from_crd in schema.h.)
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "apiserver/schema/resources.h"

namespace lockstep::apiserver {

// The served versions of a CRD that was prepared.
std::vector<std::unique_ptr<ResourceInfo>> resources_from_crd(const Json& crd,
                                                              const BuiltinSchemas& schemas);

// Kubernetes' order of versions, best first: v2, v1, v1beta2, v1beta1, v1alpha1, then others by
// name.
bool version_before(std::string_view a, std::string_view b);

}  // namespace lockstep::apiserver

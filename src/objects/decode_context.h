// What decoding needs besides the bytes: one pool that makes equal strings share their storage,
// what to keep, and the first error that is not a JSON error (an invalid time or quantity).
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "data/json.h"

namespace lockstep {

struct DecodeContext {
  TextPool pool;
  // Environment variables of containers: only these are kept.
  std::vector<std::string> keep_environment = {"DRIVER_CONFIG_DIGEST", "ENABLE_GPU_POD_EVICTION"};
  // Attributes of devices in ResourceSlices, with or without the domain before the slash.
  std::vector<std::string> keep_attributes = {"driverVersion", "cudaDriverVersion", "productName",
                                              "uuid"};
  // Annotations that are large, differ from object to object, and that nothing here reads. A name
  // that ends in a slash matches every name with that prefix.
  std::vector<std::string> drop_annotations = {
      "kubectl.kubernetes.io/last-applied-configuration",
      "cni.projectcalico.org/",
      "k8s.ovn.org/",
      "k8s.v1.cni.cncf.io/",
  };

  // The first problem wins; decode_object() turns it into the object's error.
  void fail(std::string text) {
    if (problem.empty()) problem = std::move(text);
  }
  std::string problem;

  // Reused between objects, so that a finished map takes exactly the memory it needs.
  std::vector<std::pair<Text, Text>> entries;
};

}  // namespace lockstep

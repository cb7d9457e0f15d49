// Objects of the API as typed values, from any bytes, by both readers. No crash; an error has
// words; what the reader of bytes takes is JSON, and the reader of trees takes it, too, and finds
// the same.
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "document_from_bytes.h"
#include "objects/config_map.h"
#include "objects/custom_resource_definition.h"
#include "objects/daemon_set.h"
#include "objects/decode.h"
#include "objects/deployment.h"
#include "objects/event.h"
#include "objects/job.h"
#include "objects/lease.h"
#include "objects/namespace.h"
#include "objects/node.h"
#include "objects/pod.h"
#include "objects/pod_disruption_budget.h"
#include "objects/quantity.h"
#include "objects/resource_claim.h"
#include "objects/resource_slice.h"
#include "objects/selector.h"

namespace {

using namespace lockstep;
using lockstep::fuzz::require;

template <typename T>
void check_as(std::string_view text, const Result<Json>& tree, DecodeContext& context) {
  const Result<T> object = decode_object<T>(text, context);
  if (!object) {
    require(!object.error().message.empty(), "an error has words");
    return;
  }
  require(!object->meta.name.empty(), "an object has a name");
  require(tree.has_value(), "what was decoded is JSON");
  const Result<T> same = decode_object<T>(*tree, context);
  if (!same) std::fprintf(stderr, "%s\n", same.error().text().c_str());
  require(same.has_value(), "the other reader takes it, too");
  require(*same == *object, "and finds the same");
}

template <typename... Types>
void check_all(std::string_view text) {
  const Result<Json> tree = parse_json(text);
  DecodeContext context;
  (check_as<Types>(text, tree, context), ...);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_all<ConfigMap, CustomResourceDefinition, ControllerRevision, DaemonSet, Deployment, Event,
            Job, Lease, Namespace, Node, Pod, PodDisruptionBudget, ResourceClaim, ResourceSlice>(
      text);
  (void)peek_key(text);
  if (const auto quantity = Quantity::parse(text); !quantity) {
    require(!quantity.error().message.empty(), "an error has words");
  }
  return 0;
}

#include "apiserver/kinds/quality_of_service.h"

#include <array>

#include "objects/quantity.h"

namespace lockstep::apiserver {

namespace {

constexpr std::array<std::string_view, 2> counted = {"cpu", "memory"};

Quantity amount(const Json* list, std::string_view name) {
  const Json* value = list == nullptr ? nullptr : find(*list, name);
  if (value == nullptr) return {};
  if (value->is_number()) return Quantity::of(as_integer(value));
  return Quantity::parse(as_text(value)).value_or(Quantity());
}

}  // namespace

std::string_view quality_of_service(const Json& pod) {
  bool asks = false;
  // A request is never more than its limit, so that the sums are equal when each is.
  bool guaranteed = true;
  auto look_at = [&](const Json& holder) {
    const Json* requests = find(holder, "resources", "requests");
    const Json* limits = find(holder, "resources", "limits");
    for (const std::string_view name : counted) {
      const Quantity request = amount(requests, name);
      const Quantity limit = amount(limits, name);
      asks = asks || request > Quantity() || limit > Quantity();
      guaranteed = guaranteed && limit > Quantity() && request == limit;
    }
  };
  const Json* spec = find(pod, "spec");
  if (spec == nullptr) return "BestEffort";
  if (find(*spec, "resources") != nullptr) {
    look_at(*spec);
  } else {
    for (const std::string_view key : {"containers", "initContainers"}) {
      const Json* containers = find(*spec, key);
      if (containers == nullptr || !containers->is_array()) continue;
      for (const Json& container : containers->get_array()) look_at(container);
    }
  }
  if (!asks) return "BestEffort";
  return guaranteed ? "Guaranteed" : "Burstable";
}

}  // namespace lockstep::apiserver

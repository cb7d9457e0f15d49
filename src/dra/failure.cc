#include "dra/failure.h"

#include <algorithm>
#include <iterator>
#include <tuple>

#include <fmt/format.h>

#include "base/strings.h"

namespace lockstep::dra {

namespace {

std::string_view advice_of(FailureClass kind) {
  switch (kind) {
    case FailureClass::transient:
      return "try again";
    case FailureClass::device_failed:
      return "the device is broken";
    case FailureClass::bad_config:
      return "the request is wrong";
  }
  return "";
}

}  // namespace

bool is_permanent(FailureClass kind) { return kind != FailureClass::transient; }

bool is_tainted(FailureClass kind) { return kind == FailureClass::device_failed; }

FailureClass classify_nvml(int code) {
  // Interrupts that do not arrive, a GPU that fell off its bus, one that wants a reset.
  // From here, an upgrade appears as a driver that is not loaded (9), a time-out (10), a
  // library that is missing (12) or of another version (18), and a device that is not ready
  // (27).
  constexpr int broken[] = {11, 15, 16};
  bool is_broken = std::find(std::begin(broken), std::end(broken), code) != std::end(broken);
  return is_broken ? FailureClass::device_failed : FailureClass::transient;
}

std::string describe(const ClaimFailure& failure, std::string_view driver) {
  std::string where = failure.device.empty() ? fmt::format("driver {}", driver)
                                             : fmt::format("device {} of pool {}, driver {}",
                                                           failure.device, failure.pool, driver);
  return fmt::format("claim {}, {}: {}: {}", failure.claim, where, advice_of(failure.kind),
                     failure.reason);
}

std::string describe_all(const std::vector<ClaimFailure>& failures, std::string_view claim,
                         std::string_view driver) {
  std::vector<const ClaimFailure*> ordered;
  for (const auto& failure : failures) ordered.push_back(&failure);
  // The same texts whatever the order in which they failed.
  std::sort(ordered.begin(), ordered.end(), [&](const ClaimFailure* a, const ClaimFailure* b) {
    bool a_is_own = a->claim == claim;
    bool b_is_own = b->claim == claim;
    if (a_is_own != b_is_own) return a_is_own;
    return std::tie(a->claim, a->pool, a->device, a->reason) <
           std::tie(b->claim, b->pool, b->device, b->reason);
  });
  std::vector<std::string> texts;
  for (const auto* failure : ordered) texts.push_back(describe(*failure, driver));
  return join(texts, "; ");
}

}  // namespace lockstep::dra

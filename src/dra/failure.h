// Why a claim could not be prepared, in three kinds that need three different answers, with
// messages that stay the same from one attempt to the next: events with changing texts are
// throttled away.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lockstep::dra {

enum class FailureClass {
  transient,      // temporary: the kubelet tries again
  device_failed,  // the device is broken: permanent, and the device is tainted
  bad_config,     // the request is wrong: permanent, and never a taint
};

struct ClaimFailure {
  FailureClass kind = FailureClass::transient;
  std::string claim;   // "namespace/name"
  std::string pool;    // empty: not about one device
  std::string device;  // empty: not about one device
  std::string reason;  // without times, counters or addresses

  bool operator==(const ClaimFailure&) const = default;
};

// As KEP-5322's error_type says it.
bool is_permanent(FailureClass kind);
bool is_tainted(FailureClass kind);

// What a return code of NVML says about a device. An unknown one is transient: a retry does no
// harm, and ending a pod does.
FailureClass classify_nvml(int code);

// "claim default/a: the request is wrong: …"
std::string describe(const ClaimFailure& failure, std::string_view driver);
// For the answer about one claim of a request: its own failure first, then
// those of all others that failed with it, by name, because the kubelet shows
// only one.
std::string describe_all(const std::vector<ClaimFailure>& failures, std::string_view claim,
                         std::string_view driver);

}  // namespace lockstep::dra

// Reasons: why a node, a rollout, a gate or a bake is where it is. The table of their names, and of
// what is true of each wherever it is shown, is reasons.inc; decisions, metrics, notifications, the
// simulator and docs/REASONS.md read it.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "base/text.h"
#include "data/json.h"

namespace lockstep::fleet {

enum class KnownReason : uint16_t {
  none,
#define ROW(enumerator, ...) enumerator,
#include "fleet/reasons.inc"
#undef ROW
  other,  // a name that this version does not know
};
// As it is written everywhere: "WaveNotOpen".
std::string_view to_string(KnownReason reason);

enum class ReasonClass {
  informs,           // a step, a result or progress: nothing is waited for
  waits,             // something has to happen first
  fails,             // something went wrong
  waits_then_fails,  // the node waits, and fails with it when the time is over
};
std::string_view to_string(ReasonClass reason_class);

// What it means to a user who is not watching. None: normal operation, no notification.
enum class Severity { none, info, warning, critical };
std::string_view to_string(Severity severity);

struct ReasonRow {
  KnownReason reason;
  std::string_view name;
  ReasonClass reason_class;
  Severity severity;
  bool may_last;     // nothing that Lockstep does ends it, nor the end of work in progress
  bool retry_helps;  // `lockstep retry` or `lockstep rollout retry` can end it
  std::string_view meaning;

  bool waits() const;  // at least at first
  bool fails() const;  // at least in the end
};

// In the order of their names.
std::span<const ReasonRow> all_reasons();

// A reason by its name. Another version of Lockstep may have written a name that is not in the
// table: it is kept, and shown as it is.
class ReasonName {
 public:
  ReasonName() = default;
  ReasonName(KnownReason known) : known_(known) {}  // NOLINT: converts like an enumerator
  static ReasonName read(std::string_view name);

  bool empty() const { return known_ == KnownReason::none; }
  // Of a name that is not in the table: that nothing is known of it.
  const ReasonRow& row() const;
  // Valid as long as this value.
  std::string_view view() const {
    return known_ == KnownReason::other ? other_.view() : row().name;
  }
  std::string str() const { return std::string(view()); }
  // Of its paragraph in docs/TROUBLESHOOTING.md: "wavenotopen".
  std::string anchor() const;

  friend bool operator==(const ReasonName&, const ReasonName&) = default;
  friend bool operator==(const ReasonName& a, KnownReason b) { return a.known_ == b; }
  friend std::strong_ordering operator<=>(const ReasonName& a, const ReasonName& b) {
    return a.view() <=> b.view();
  }

 private:
  KnownReason known_ = KnownReason::none;
  Text other_;
};

// A reason with its numbers, as users read it.
struct Reason {
// Reason::wave_not_open. Not by `using enum`, which g++ 12 does not survive in generic lambdas.
#define ROW(enumerator, ...) static constexpr KnownReason enumerator = KnownReason::enumerator;
#include "fleet/reasons.inc"
#undef ROW

  ReasonName name;
  std::string text;    // "5 upgrades in progress, and maxParallelUpgrades is 5"
  std::string remedy;  // "raise maxParallelUpgrades, or wait"; may be empty

  // "WaveNotOpen: wave rest is not open".
  std::string line() const;
  // What a failed node has as its failure: such a line. Without a name in it, or empty: Failed.
  static Reason of_failure(std::string_view line);
  bool operator==(const Reason&) const = default;
};

// {"name": …, "text": …}, and "remedy" if there is one.
Json to_json(const Reason& reason);
Json to_json(const std::map<ReasonName, int64_t>& counts);

}  // namespace lockstep::fleet

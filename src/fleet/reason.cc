#include "fleet/reason.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/strings.h"

namespace lockstep::fleet {

namespace {

// Names for the columns of the table.
constexpr bool lasts = true;
constexpr bool passes = false;
constexpr bool retry = true;
constexpr bool no_retry = false;

constexpr auto table = [] {
  using enum ReasonClass;
  return std::to_array<ReasonRow>({
#define ROW(enumerator, name, reason_class, severity, may_last, retry_helps, meaning) \
  {KnownReason::enumerator, name, reason_class, Severity::severity, may_last, retry_helps, meaning},
#include "fleet/reasons.inc"
#undef ROW
  });
}();

constexpr ReasonRow no_reason = {
    KnownReason::none, "", ReasonClass::informs, Severity::none, false, false, ""};
// It is shown and announced like an important one: its meaning is not known here.
constexpr ReasonRow other_reason = {KnownReason::other,
                                    "",
                                    ReasonClass::informs,
                                    Severity::warning,
                                    false,
                                    false,
                                    "Another version of Lockstep wrote this reason."};

// An enumerator is its row's number; names are searched by halves.
constexpr bool is_in_order() {
  for (size_t i = 0; i < table.size(); ++i) {
    if (static_cast<size_t>(table[i].reason) != i + 1) return false;
    if (i > 0 && table[i].name <= table[i - 1].name) return false;
  }
  return true;
}
static_assert(is_in_order(), "fleet/reasons.inc is not in the order of its names");

}  // namespace

std::span<const ReasonRow> all_reasons() { return table; }

bool ReasonRow::waits() const {
  return reason_class == ReasonClass::waits || reason_class == ReasonClass::waits_then_fails;
}

bool ReasonRow::fails() const {
  return reason_class == ReasonClass::fails || reason_class == ReasonClass::waits_then_fails;
}

std::string_view to_string(ReasonClass reason_class) {
  switch (reason_class) {
    case ReasonClass::informs:
      return "informs";
    case ReasonClass::waits:
      return "waits";
    case ReasonClass::fails:
      return "fails";
    case ReasonClass::waits_then_fails:
      break;
  }
  return "waits, then fails";
}

std::string_view to_string(Severity severity) {
  switch (severity) {
    case Severity::none:
      return "none";
    case Severity::info:
      return "info";
    case Severity::warning:
      return "warning";
    case Severity::critical:
      break;
  }
  return "critical";
}

std::string_view to_string(KnownReason reason) { return ReasonName(reason).row().name; }

namespace {

// What earlier versions wrote on nodes and in the status of rollouts.
struct Renamed {
  std::string_view before;
  KnownReason now;
};
constexpr Renamed renamed[] = {{"BrokenOff", KnownReason::interrupted},
                               {"ControlFailsToo", KnownReason::control_group_failing},
                               {"CordonLifted", KnownReason::uncordoned_by_user},
                               {"Rival", KnownReason::conflicting_controller},
                               {"VersionTakenBack", KnownReason::version_rolled_back},
                               {"YoungOrphan", KnownReason::orphan_too_young}};

}  // namespace

ReasonName ReasonName::read(std::string_view name) {
  if (name.empty()) return {};
  auto at = std::lower_bound(
      table.begin(), table.end(), name,
      [](const ReasonRow& row, std::string_view wanted) { return row.name < wanted; });
  if (at != table.end() && at->name == name) return at->reason;
  for (const Renamed& each : renamed) {
    if (each.before == name) return each.now;
  }
  ReasonName other(KnownReason::other);
  other.other_ = Text(name);
  return other;
}

const ReasonRow& ReasonName::row() const {
  if (known_ == KnownReason::none) return no_reason;
  if (known_ == KnownReason::other) return other_reason;
  return table[static_cast<size_t>(known_) - 1];
}

std::string ReasonName::anchor() const { return lower(view()); }

std::string Reason::line() const { return fmt::format("{}: {}", name.view(), text); }

Reason Reason::of_failure(std::string_view line) {
  if (line.empty()) return {Reason::failed, "the upgrade failed; nothing says why", ""};
  if (const size_t colon = line.find(": "); colon != std::string_view::npos) {
    return {ReasonName::read(line.substr(0, colon)), std::string(line.substr(colon + 2)), ""};
  }
  // What a user wrote, or cut short.
  if (line.ends_with(':')) return {ReasonName::read(line.substr(0, line.size() - 1)), "", ""};
  return {Reason::failed, std::string(line), ""};
}

Json to_json(const Reason& reason) {
  JsonObject json{{"name", reason.name.view()}, {"text", reason.text}};
  if (!reason.remedy.empty()) json["remedy"] = reason.remedy;
  return json;
}

Json to_json(const std::map<ReasonName, int64_t>& counts) {
  JsonObject json;
  for (const auto& [reason, count] : counts) json[reason.view()] = count;
  return json;
}

}  // namespace lockstep::fleet

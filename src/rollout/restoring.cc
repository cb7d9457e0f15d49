#include "rollout/restoring.h"

#include <algorithm>

#include <fmt/format.h>

namespace lockstep::rollout {

namespace {

bool object_says(const RolloutView& view, const DriverRevision& driver) {
  return view.object && driver.fields && *view.object == *driver.fields;
}

}  // namespace

// The object changes before its DaemonSets do: what was recorded for this revision stays, unless
// the object says the same version and all else that makes the image.
void record_stable(const DriverRevision& target, RolloutStatus& status) {
  const DriverRevision before = status.stable;
  status.stable = target;
  const auto& now = target.fields;
  const bool replaces =
      !before.fields || (now && now->is_complete() && now->version() == before.fields->version());
  if (replaces) return;
  status.stable.fields = before.fields;
  status.stable.version = before.version;
}

void learn_fields(const DriverRevision& target, RolloutStatus& status) {
  if (!target.fields) return;
  auto learn = [&](DriverRevision& known) {
    if (!known.fields && target.same_as(known)) known = target;
  };
  learn(status.to);
  for (RejectedDriver& each : status.rejected) learn(each.driver);
}

std::optional<Reason> obstacle_to_start(const RolloutView& view, const RolloutStatus& status) {
  auto unavailable = [](std::string text, std::string remedy) {
    return Reason{Reason::rollback_unavailable, std::move(text), std::move(remedy)};
  };
  if (!status.stable.is_set()) {
    return unavailable("the previous driver is not known, and onFailure is RollBack",
                       "create the rollout before the version changes, or set onFailure: Hold");
  }
  if (!view.no_rollback.empty()) {
    return unavailable(view.no_rollback, "set onFailure: Hold to start without a rollback");
  }
  if (view.spec.matrix) return std::nullopt;
  if (!status.stable.fields) {
    return unavailable(
        "the driver's object before the change was not recorded, and onFailure is "
        "RollBack",
        "set the previous version until it is recorded, or set onFailure: Hold");
  }
  if (view.target.fields) return std::nullopt;
  return Reason{Reason::starting, "waits until the driver's object and its DaemonSet agree", ""};
}

std::string obstacle_to_rollback(const RolloutView& view, const RolloutStatus& status) {
  const DriverRevision& from = status.from;
  if (!from.is_set()) return "the previous driver is not known";
  if (!view.no_rollback.empty()) return view.no_rollback;
  if (!view.spec.matrix && !from.fields) {
    return "the driver's object before the change was not recorded; set it manually";
  }
  // The image is all that is restored.
  const bool has_changed = view.spec.matrix
                               ? from.version.empty() || from.version != status.to.version
                               : from.fields != status.to.fields;
  if (has_changed || from.same_as(status.to)) return {};
  return fmt::format("the previous version was also {}; revert the other changes", from.version);
}

const RejectedDriver* rejection_of(const RolloutStatus& status, const DriverRevision& driver) {
  auto at =
      std::find_if(status.rejected.begin(), status.rejected.end(),
                   [&](const RejectedDriver& each) { return each.driver.is_same_driver(driver); });
  return at == status.rejected.end() ? nullptr : &*at;
}

const RejectedDriver* rejection_of_target(const RolloutView& view, const RolloutStatus& status) {
  const RejectedDriver* rejected = rejection_of(status, view.target);
  if (rejected != nullptr || view.target.fields) return rejected;
  auto at =
      std::find_if(status.rejected.begin(), status.rejected.end(), [&](const RejectedDriver& each) {
        return is_image_of(each.driver, view.target_image).value_or(false);
      });
  return at == status.rejected.end() ? nullptr : &*at;
}

void reject(RolloutStatus& status, const DriverRevision& driver, Time at,
            const fleet::ReasonName& reason) {
  allow(status, driver);
  status.rejected.push_back({driver, at, reason});
  if (status.rejected.size() > most_rejected) status.rejected.erase(status.rejected.begin());
}

void allow(RolloutStatus& status, const DriverRevision& driver) {
  std::erase_if(status.rejected,
                [&](const RejectedDriver& each) { return each.driver.is_same_driver(driver); });
}

Reason rejection_reason(const RejectedDriver& rejected, const RolloutStatus& status,
                        const std::string& rollout) {
  return {
      Reason::rejected_version,
      fmt::format("{} was rolled back ({}) and is set again; no node starts with it. Set "
                  "another version ({} ran before), or allow it: lockstep rollout retry {}",
                  rejected.driver.version, rejected.reason.view(), status.stable.version, rollout),
      ""};
}

std::string obstacle_to_restore(const RolloutSpec& spec) {
  if (spec.matrix) {
    return "the version comes from Git (spec.matrix), and this controller has no access to it";
  }
  if (spec.driver.kind == DriverKind::daemon_set) {
    return "Lockstep does not set the version of a DaemonSet";
  }
  return {};
}

RestoreStep next_restore_step(const RolloutView& view, const RolloutStatus& status) {
  using Kind = RestoreStep::Kind;
  const std::string& version = status.from.version;
  auto wait = [](fleet::KnownReason name, std::string text, std::string remedy = {}) {
    return RestoreStep{Kind::wait, {name, std::move(text), std::move(remedy)}};
  };
  if (status.restored) {
    const RejectedDriver* rejected = rejection_of(status, status.to);
    if (object_says(view, status.to) && rejected != nullptr) {
      return {Kind::rejected, rejection_reason(*rejected, status, view.name)};
    }
    return wait(Reason::reverting,
                fmt::format("the driver's object has {}: waits for the operator", version));
  }
  if (object_says(view, status.from) || (view.restore && view.restore->is_done())) {
    return {Kind::restored,
            {Reason::reverted, fmt::format("the driver's object has {} again", version), ""}};
  }
  if (std::string obstacle = obstacle_to_rollback(view, status); !obstacle.empty()) {
    return {Kind::unavailable, {Reason::rollback_unavailable, std::move(obstacle), ""}};
  }
  if (view.object && status.to.fields && !object_says(view, status.to)) {
    return wait(Reason::reverting,
                fmt::format("a user has set {}: waits for the operator", view.object->version()));
  }
  if (view.restore) {
    return wait(Reason::revert_refused,
                fmt::format("setting the driver's object to {} failed and is retried: {}", version,
                            view.restore->error),
                "or set the version manually");
  }
  return {Kind::write,
          {Reason::reverting, fmt::format("the driver's object is set to {}", version), ""}};
}

}  // namespace lockstep::rollout

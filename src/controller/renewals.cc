#include "controller/renewals.h"

#include <algorithm>
#include <utility>

namespace lockstep::controller {

namespace {

const Text* owner_of(const Pod& pod) {
  const OwnerReference* owner = pod.meta.controller();
  return owner == nullptr ? nullptr : &owner->uid;
}

bool is_of(const Renewals::Renewal& renewal, const fleet::NodeView& view) {
  const auto& driver = view.driver.pod;
  return driver != nullptr && driver->ready && driver->meta.uid == renewal.driver &&
         driver->ready_since == renewal.ready_since;
}

bool has_no_surge(const DaemonSet& set) {
  return !set.max_surge || *set.max_surge == IntOrPercent::count(0);
}

}  // namespace

std::optional<Renewals::Renewal> Renewals::of(const fleet::NodeView& view, const Pod& pod,
                                              const DaemonSet* set) {
  const auto& driver = view.driver.pod;
  const Text* owner = owner_of(pod);
  if (driver == nullptr || !driver->ready || owner == nullptr) return std::nullopt;
  if (set == nullptr || set->meta.uid != *owner || !has_no_surge(*set)) return std::nullopt;
  Renewal renewal{driver->meta.uid, driver->ready_since, *owner, {}};
  for (const auto& entry : view.pods) {
    const Text* other = owner_of(*entry.pod);
    if (other != nullptr && *other == *owner) renewal.known.push_back(entry.pod->meta.uid);
  }
  return renewal;
}

void Renewals::add(Renewal renewal) {
  std::erase_if(held_, [&](const Renewal& each) {
    return each.owner == renewal.owner || each.driver != renewal.driver ||
           each.ready_since != renewal.ready_since;
  });
  held_.push_back(std::move(renewal));
}

void Renewals::tell(fleet::NodeView& view) const {
  for (const Renewal& renewal : held_) {
    if (!is_of(renewal, view)) continue;
    for (const auto& entry : view.pods) {
      const Text* owner = owner_of(*entry.pod);
      const Text& uid = entry.pod->meta.uid;
      bool is_new =
          std::find(renewal.known.begin(), renewal.known.end(), uid) == renewal.known.end();
      if (owner != nullptr && *owner == renewal.owner && is_new) view.known.renewed.push_back(uid);
    }
  }
}

}  // namespace lockstep::controller

#include "data/strategic_list.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace lockstep {

namespace {

// The first place of each identity in a list.
class Ranks {
 public:
  explicit Ranks(const Identities& identities) {
    for (size_t i = 0; i < identities.size(); ++i) places_.emplace(identities[i], i);
  }
  std::optional<size_t> of(const std::string& identity) const {
    auto place = places_.find(identity);
    if (place == places_.end()) return std::nullopt;
    return place->second;
  }

 private:
  std::map<std::string_view, size_t> places_;
};

struct Ranked {
  size_t item;
  std::optional<size_t> wanted;
  std::optional<size_t> live;
};
using Rank = std::optional<size_t> Ranked::*;

// Kubernetes sorts with a comparison that calls everything it does not know "less". That is not an
// order, so the outcome is that of its algorithm, an insertion sort, and we do the same.
void sort_by(std::vector<Ranked>& items, Rank rank) {
  const auto known = [&](const Ranked& item) { return (item.*rank).has_value(); };
  if (std::all_of(items.begin(), items.end(), known)) {
    std::sort(items.begin(), items.end(), [&](const Ranked& a, const Ranked& b) {
      return std::pair(a.*rank, a.item) < std::pair(b.*rank, b.item);
    });
    return;
  }
  const auto less = [&](const Ranked& a, const Ranked& b) {
    return !known(a) || !known(b) || *(a.*rank) < *(b.*rank);
  };
  for (size_t i = 1; i < items.size(); ++i) {
    for (size_t j = i; j > 0 && less(items[j], items[j - 1]); --j) {
      std::swap(items[j], items[j - 1]);
    }
  }
}

std::string_view type_name(const Json& value) {
  switch (value.kind()) {
    case JsonKind::null:
      return "null";
    case JsonKind::bool_:
      return "bool";
    case JsonKind::string:
      return "string";
    case JsonKind::array:
      return "list";
    case JsonKind::object:
      return "map";
    default:
      return "number";
  }
}

}  // namespace

Result<Identities> identities_of(const JsonArray& items, std::string_view key) {
  Identities identities;
  identities.reserve(items.size());
  for (const Json& item : items) {
    if (key.empty()) {
      identities.push_back(print_json(item));
      continue;
    }
    if (!item.is_object()) {
      return failf(ErrorKind::invalid, "expected a map, but received a {}", type_name(item));
    }
    const Json* value = item.get_object().if_contains(key);
    if (value == nullptr) {
      return failf(ErrorKind::invalid, "map: {} does not contain declared merge key: {}",
                   print_json(item), key);
    }
    if (value->is_structured()) {
      return failf(ErrorKind::invalid, "map: {} has a merge key that is no primitive: {}",
                   print_json(item), key);
    }
    identities.push_back(print_json(*value));
  }
  return identities;
}

Result<ItemKind> kind_of_items(const JsonArray& a, const JsonArray& b) {
  const Json* first = nullptr;
  for (const JsonArray* list : {&a, &b}) {
    for (const Json& item : *list) {
      if (first == nullptr) first = &item;
      if (item.is_array()) return fail(ErrorKind::invalid, "lists of lists are not supported");
      if (item.is_null()) return fail(ErrorKind::invalid, "a null in a list that is merged");
      if (type_name(item) != type_name(*first)) {
        return failf(ErrorKind::invalid, "list element types are not identical: {} and {}",
                     type_name(*first), type_name(item));
      }
    }
  }
  if (first == nullptr) return ItemKind::none;
  return first->is_object() ? ItemKind::object : ItemKind::primitive;
}

JsonArray in_order(JsonArray items, const Identities& identities, const Identities& wanted,
                   const Identities& live) {
  const Ranks wanted_ranks(wanted);
  const Ranks live_ranks(live);
  std::vector<Ranked> named;
  std::vector<Ranked> others;
  for (size_t i = 0; i < items.size(); ++i) {
    const Ranked item{i, wanted_ranks.of(identities[i]), live_ranks.of(identities[i])};
    (item.wanted ? named : others).push_back(item);
  }
  sort_by(named, &Ranked::wanted);
  sort_by(others, &Ranked::live);

  JsonArray result;
  result.reserve(items.size());
  auto other = others.begin();
  for (const Ranked& item : named) {
    while (other != others.end() && other->live && item.live && *other->live < *item.live) {
      result.push_back(std::move(items[other->item]));
      ++other;
    }
    result.push_back(std::move(items[item.item]));
  }
  for (; other != others.end(); ++other) result.push_back(std::move(items[other->item]));
  return result;
}

Result<void> check_order(const Identities& items, const Identities& wanted) {
  if (wanted.empty()) return {};
  auto place = wanted.begin();
  for (const std::string& item : items) {
    place = std::find(place, wanted.end(), item);
    if (place == wanted.end()) {
      return failf(ErrorKind::invalid,
                   "The order in patch list doesn't match $setElementOrder list: {} is not there, "
                   "or not in this order",
                   item);
    }
    ++place;
  }
  return {};
}

JsonArray without_duplicates(const JsonArray& items) {
  JsonArray result;
  std::set<std::string> seen;
  for (const Json& item : items) {
    if (seen.insert(print_json(item)).second) result.push_back(item);
  }
  return result;
}

JsonArray without_items(const JsonArray& items, const JsonArray& unwanted) {
  std::set<std::string> gone;
  for (const Json& item : unwanted) gone.insert(print_json(item));
  JsonArray result;
  for (const Json& item : items) {
    if (!gone.contains(print_json(item))) result.push_back(item);
  }
  return result;
}

}  // namespace lockstep

#include "objects/string_map.h"

#include <algorithm>

namespace lockstep {

namespace {

bool key_less(const StringMap::Entry& a, const StringMap::Entry& b) { return a.first < b.first; }

auto lower_bound_of(auto& entries, std::string_view key) {
  return std::lower_bound(entries.begin(), entries.end(), key,
                          [](const StringMap::Entry& entry, std::string_view wanted) {
                            return entry.first.view() < wanted;
                          });
}

}  // namespace

StringMap::StringMap(std::initializer_list<Entry> entries)
    : StringMap(from_entries(std::vector<Entry>(entries))) {}

StringMap StringMap::from_entries(const std::vector<Entry>& entries) {
  StringMap map;
  map.entries_.reserve(entries.size());
  map.entries_ = entries;
  // Go writes maps sorted, so this is nearly always all there is to do.
  auto not_after = [](const Entry& a, const Entry& b) { return !(a.first < b.first); };
  if (std::adjacent_find(map.entries_.begin(), map.entries_.end(), not_after) ==
      map.entries_.end()) {
    return map;
  }
  std::stable_sort(map.entries_.begin(), map.entries_.end(), key_less);
  // Of equal keys the last one stays.
  size_t kept = 0;
  for (size_t i = 0; i < map.entries_.size(); ++i) {
    bool repeated =
        i + 1 < map.entries_.size() && map.entries_[i].first == map.entries_[i + 1].first;
    if (repeated) continue;
    if (kept != i) map.entries_[kept] = std::move(map.entries_[i]);
    ++kept;
  }
  map.entries_.resize(kept);
  map.entries_.shrink_to_fit();
  return map;
}

const Text* StringMap::find(std::string_view key) const {
  // Keys have common prefixes: for a few keys, comparing marks is faster than comparing order.
  constexpr size_t few = 48;
  if (key.size() > Text::inline_limit && entries_.size() <= few) {
    const uint16_t mark = Text::mark_of(key);
    for (const Entry& entry : entries_) {
      if (entry.first.mark() == mark && entry.first == key) return &entry.second;
    }
    return nullptr;
  }
  auto at = lower_bound_of(entries_, key);
  return at != entries_.end() && at->first == key ? &at->second : nullptr;
}

std::string_view StringMap::get(std::string_view key) const {
  const Text* value = find(key);
  return value == nullptr ? std::string_view() : value->view();
}

std::optional<std::string_view> StringMap::value_of(std::string_view key) const {
  const Text* value = find(key);
  return value == nullptr ? std::nullopt : std::optional(value->view());
}

void StringMap::set(Text key, Text value) {
  auto at = lower_bound_of(entries_, key.view());
  if (at != entries_.end() && at->first == key) {
    at->second = std::move(value);
  } else {
    entries_.emplace(at, std::move(key), std::move(value));
  }
}

bool StringMap::erase(std::string_view key) {
  auto at = lower_bound_of(entries_, key);
  if (at == entries_.end() || !(at->first == key)) return false;
  entries_.erase(at);
  return true;
}

}  // namespace lockstep

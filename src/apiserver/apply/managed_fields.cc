#include "apiserver/apply/managed_fields.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

namespace lockstep::apiserver {

namespace {

constexpr size_t most_update_managers = 10;
constexpr std::string_view ancient_manager = "ancient-changes";

}  // namespace

ManagedEntry::ManagedEntry(const FieldManager& manager, bool is_apply)
    : manager_(manager.name.empty() ? "unknown" : manager.name),
      api_version_(manager.api_version),
      subresource_(manager.subresource),
      is_apply_(is_apply),
      encoded_(JsonObject()) {}

std::optional<ManagedEntry> ManagedEntry::decode(Json entry) {
  const std::string_view operation = text_at(entry, "operation");
  if (operation != "Apply" && operation != "Update") return std::nullopt;
  if (text_at(entry, "apiVersion").empty()) return std::nullopt;
  if (text_at(entry, "fieldsType") != "FieldsV1") return std::nullopt;
  ManagedEntry result;
  result.manager_ = text_at(entry, "manager");
  result.api_version_ = text_at(entry, "apiVersion");
  result.subresource_ = text_at(entry, "subresource");
  result.is_apply_ = operation == "Apply";
  result.time_ = text_at(entry, "time");
  if (const Result<Time> time = parse_rfc3339(result.time_)) {
    result.unix_seconds_ = time->unix_seconds();
  }
  Json* fields = lockstep::find(entry, "fieldsV1");
  result.encoded_ =
      fields == nullptr || fields->is_null() ? Json(JsonObject()) : std::move(*fields);
  return result;
}

Json ManagedEntry::encode() && {
  JsonObject entry;
  entry.reserve(7);
  entry.emplace("manager", manager_);
  entry.emplace("operation", is_apply_ ? "Apply" : "Update");
  entry.emplace("apiVersion", api_version_);
  if (!time_.empty()) entry.emplace("time", time_);
  entry.emplace("fieldsType", "FieldsV1");
  entry.emplace("fieldsV1", fields_ ? fields_->encode() : std::move(encoded_));
  if (!subresource_.empty()) entry.emplace("subresource", subresource_);
  return entry;
}

void ManagedEntry::set_time(Time time) {
  time_ = format_rfc3339(time);
  unix_seconds_ = time.unix_seconds();
}

void ManagedEntry::set_time_of(const ManagedEntry& other) {
  time_ = other.time_;
  unix_seconds_ = other.unix_seconds_;
}

void ManagedEntry::rename(std::string manager, std::string subresource) {
  manager_ = std::move(manager);
  subresource_ = std::move(subresource);
}

std::string ManagedEntry::identity() const {
  // Appliers are known by their name alone, whatever version they apply. Quotes between the parts
  // give the order that Kubernetes has, which sorts managers as JSON.
  return fmt::format("{}\"{}\"{}\"{}", manager_, is_apply_ ? "Apply" : "Update",
                     is_apply_ ? "" : api_version_, subresource_);
}

bool ManagedEntry::is_same_manager(const ManagedEntry& other) const {
  return manager_ == other.manager_ && is_apply_ == other.is_apply_ &&
         subresource_ == other.subresource_ && (is_apply_ || api_version_ == other.api_version_);
}

const FieldSet& ManagedEntry::fields() {
  // A set that cannot be read owns nothing; those that come from outside were checked when they
  // came.
  if (!fields_) fields_ = FieldSet::decode(encoded_).value_or(FieldSet());
  return *fields_;
}

void ManagedEntry::set_fields(FieldSet fields) { fields_ = std::move(fields); }

bool ManagedEntry::overlaps(const FieldSet& fields) const {
  if (!fields_) return fields.overlaps(encoded_);
  FieldSet shared = *fields_;
  shared.intersect(fields);
  return !shared.empty();
}

bool ManagedEntry::contains(const FieldSet& fields) const {
  if (!fields_) return fields.is_within(encoded_);
  FieldSet missing = fields;
  missing.subtract(*fields_);
  return missing.empty();
}

bool ManagedEntry::is_empty() const {
  if (fields_) return fields_->empty();
  return !encoded_.is_object() || encoded_.get_object().empty();
}

std::optional<ManagedFields> ManagedFields::decode(Json managed_fields, bool trusted) {
  ManagedFields managed;
  JsonArray* entries = managed_fields.if_array();
  if (entries == nullptr) return managed;
  managed.entries_.reserve(entries->size() + 1);
  for (Json& element : *entries) {
    if (!trusted) {
      const Json* given = lockstep::find(element, "fieldsV1");
      if (given != nullptr && !given->is_null() && !FieldSet::decode(*given)) return std::nullopt;
    }
    std::optional<ManagedEntry> entry = ManagedEntry::decode(std::move(element));
    if (!entry) return std::nullopt;
    if (!trusted) entry->fields();
    if (trusted) {
      managed.entries_.push_back(std::move(*entry));
    } else {
      managed.put(std::move(*entry));
    }
  }
  return managed;
}

ManagedEntry* ManagedFields::find(const ManagedEntry& like) {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const ManagedEntry& entry) {
    return entry.is_same_manager(like);
  });
  return found == entries_.end() ? nullptr : &*found;
}

ManagedEntry& ManagedFields::put(ManagedEntry entry) {
  if (ManagedEntry* existing = find(entry)) {
    *existing = std::move(entry);
    return *existing;
  }
  entries_.push_back(std::move(entry));
  return entries_.back();
}

void ManagedFields::drop_empty() {
  std::erase_if(entries_, [](const ManagedEntry& entry) { return entry.is_empty(); });
}

void ManagedFields::cap_updates() {
  std::vector<std::pair<int64_t, std::string>> updates;  // by age, then by name
  for (const ManagedEntry& entry : entries_) {
    if (!entry.is_apply()) updates.emplace_back(entry.unix_seconds(), entry.identity());
  }
  if (updates.size() <= most_update_managers) return;
  std::sort(updates.begin(), updates.end());

  const auto entry_of = [&](const std::string& identity) {
    return std::find_if(entries_.begin(), entries_.end(),
                        [&](const ManagedEntry& entry) { return entry.identity() == identity; });
  };
  std::vector<std::pair<std::string, std::string>> first_of;  // version, identity
  size_t count = updates.size();
  for (const auto& [seconds, identity] : updates) {
    if (count <= most_update_managers) break;
    const auto oldest = entry_of(identity);
    const std::string version = oldest->api_version();
    const auto first = std::find_if(first_of.begin(), first_of.end(),
                                    [&](const auto& pair) { return pair.first == version; });
    if (first == first_of.end()) {
      first_of.emplace_back(version, identity);
      continue;
    }
    ManagedEntry bucket(FieldManager{std::string(ancient_manager), version, ""}, false);
    if (find(bucket) == nullptr) {
      entry_of(first->second)->rename(std::string(ancient_manager), "");
    }
    ManagedEntry& ancient = *find(bucket);
    if (&ancient == &*oldest) continue;
    FieldSet together = ancient.fields();
    together.unite(oldest->fields());
    ancient.set_fields(std::move(together));
    ancient.set_time_of(*oldest);
    entries_.erase(oldest);
    --count;
  }
}

Json ManagedFields::encode() && {
  if (entries_.empty()) return nullptr;
  std::sort(entries_.begin(), entries_.end(), [](const ManagedEntry& a, const ManagedEntry& b) {
    const auto key = [](const ManagedEntry& entry) {
      return std::make_tuple(
          entry.is_apply() ? 0 : 1, entry.unix_seconds(), std::string_view(entry.manager()),
          std::string_view(entry.api_version()), std::string_view(entry.subresource()));
    };
    return key(a) < key(b);
  });
  JsonArray encoded;
  encoded.reserve(entries_.size());
  for (ManagedEntry& entry : entries_) encoded.push_back(std::move(entry).encode());
  return encoded;
}

bool is_reset(const Json* managed_fields) {
  const JsonArray* entries = managed_fields == nullptr ? nullptr : managed_fields->if_array();
  if (entries == nullptr) return false;
  if (entries->empty()) return true;
  const JsonObject* only = entries->size() == 1 ? entries->front().if_object() : nullptr;
  return only != nullptr && only->empty();
}

}  // namespace lockstep::apiserver

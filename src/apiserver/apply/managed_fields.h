// metadata.managedFields: the owner of each field.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apiserver/apply/apply.h"
#include "apiserver/apply/field_set.h"
#include "base/time.h"
#include "data/json.h"

namespace lockstep::apiserver {

// One manager's fields. They stay encoded until they are needed: most entries are never read.
class ManagedEntry {
 public:
  ManagedEntry(const FieldManager& manager, bool is_apply);
  // An element of managedFields. Nothing when it is not one that Kubernetes would read.
  static std::optional<ManagedEntry> decode(Json entry);
  Json encode() &&;

  bool is_apply() const { return is_apply_; }
  const std::string& manager() const { return manager_; }
  const std::string& api_version() const { return api_version_; }
  const std::string& subresource() const { return subresource_; }
  int64_t unix_seconds() const { return unix_seconds_; }
  void set_time(Time time);
  void set_time_of(const ManagedEntry& other);
  void rename(std::string manager, std::string subresource);
  void set_api_version(const std::string& api_version) { api_version_ = api_version; }

  // What distinguishes managers, as Kubernetes writes it; also their order.
  std::string identity() const;
  // The same manager doing the same thing.
  bool is_same_manager(const ManagedEntry& other) const;

  const FieldSet& fields();
  void set_fields(FieldSet fields);
  bool overlaps(const FieldSet& fields) const;
  bool contains(const FieldSet& fields) const;
  bool is_empty() const;

 private:
  ManagedEntry() = default;

  std::string manager_, api_version_, subresource_;
  bool is_apply_ = false;
  std::string time_;  // as it was written; empty: none
  int64_t unix_seconds_ = 0;
  Json encoded_;  // fieldsV1, while fields_ is empty
  std::optional<FieldSet> fields_;
};

class ManagedFields {
 public:
  // The value of metadata.managedFields. Nothing when Kubernetes would refuse to read it.
  // `trusted`: we wrote it ourselves, so that its sets need not be checked.
  static std::optional<ManagedFields> decode(Json managed_fields, bool trusted);
  // Null if no field has an owner.
  Json encode() &&;

  bool empty() const { return entries_.empty(); }
  std::vector<ManagedEntry>& entries() { return entries_; }
  ManagedEntry* find(const ManagedEntry& like);
  // The entry of the same manager, replaced or added.
  ManagedEntry& put(ManagedEntry entry);
  void drop_empty();
  // At most ten managers that update: the oldest are put together as "ancient-changes".
  void cap_updates();

 private:
  std::vector<ManagedEntry> entries_;
};

// [] or [{}]: a client asks to forget all owners.
bool is_reset(const Json* managed_fields);

}  // namespace lockstep::apiserver

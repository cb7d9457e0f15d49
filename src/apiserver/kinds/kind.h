// What is special about each built-in kind: one row of hooks per kind, in a file per family. The
// verbs ask the row and know no kind's name. Hooks are pure: they see objects and nothing else.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/schema/resources.h"
#include "apiserver/schema/status.h"
#include "data/json.h"
#include "objects/names.h"

namespace lockstep::apiserver {

using Causes = std::vector<StatusCause>;

// A default: at a path, a value in JSON. Objects on the way are made.
struct PlainDefault {
  std::string_view path;
  std::string_view value;
};

struct Kind {
  std::string_view group = {};
  std::string_view plural = {};

  // Metadata.
  Complaints (*check_name)(std::string_view name) = check_dns_subdomain;
  size_t longest_name = 0;  // 0: as its check says
  // metadata.generation counts the changes of what is wanted.
  bool counts_generations = false;
  // What field selectors may name, beside metadata.
  std::vector<std::string_view> selectable = {};

  // Defaults: the plain ones first.
  std::vector<PlainDefault> defaults = {};
  void (*set_defaults)(JsonObject& object) = nullptr;
  bool has_status_defaults = false;
  // Where a change that leaves the spec alone needs no other defaults than these, and no check.
  void (*default_status)(JsonObject& object) = nullptr;

  // Validation. `before` is null on create. `prepare` also completes the object.
  void (*check)(const Json& object, const Json* before, Causes& causes) = nullptr;
  Causes (*prepare)(Json& object, const BuiltinSchemas& schemas) = nullptr;

  // Create: before defaults, and after them.
  bool keeps_status_on_create = false;
  void (*begin)(JsonObject& object) = nullptr;
  void (*complete)(Json& object) = nullptr;

  // Update.
  bool is_created_by_update = false;
  // A change of the status may change labels and annotations too.
  bool status_change_keeps_labels = false;
  // The field that only the server changes.
  std::string_view server_field = {};

  // Delete.
  std::string_view (*refuse_deletion)(std::string_view name) = nullptr;  // why; empty: allowed
  int64_t (*grace)(const Json& object, std::optional<int64_t> asked) = nullptr;
  // The deletion begins with this, and does not end at once.
  void (*mark_deleted)(JsonObject& object) = nullptr;
  // Whether an object without finalizers may go.
  bool (*may_vanish)(const Json& object) = nullptr;
  bool is_answered_with_object = false;

  // The stored object, of another version, as a client of this version sees it.
  Json (*as_version)(const Json& stored, const ResourceType& type) = nullptr;
  // It defines further kinds.
  bool defines_kinds = false;
  // spec.selector is a plain map of labels.
  bool has_plain_selector = false;
};

// The row of a kind, by its type or by where its objects are stored. Kinds without anything special
// share one, and so do custom resources.
const Kind& kind_of(const ResourceInfo& info);
const Kind& kind_stored_as(std::string_view storage);

// The families.
std::vector<Kind> pod_kinds();
std::vector<Kind> workload_kinds();
std::vector<Kind> cluster_kinds();  // namespaces, nodes, leases, events, definitions
std::vector<Kind> data_kinds();     // config maps, secrets, volumes
std::vector<Kind> network_kinds();
std::vector<Kind> policy_kinds();
std::vector<Kind> device_kinds();

}  // namespace lockstep::apiserver

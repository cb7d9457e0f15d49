// The table of what the server serves: built-in resources, and those that CRDs add.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/schema/schema.h"
#include "objects/resource_type.h"

namespace lockstep::apiserver {

// A column of `kubectl get`. Built-in kinds compute theirs (table.cc); CRDs give a JSONPath.
struct Column {
  std::string name;
  std::string type = "string";
  std::string format;
  std::string description;
  int priority = 0;
  std::string json_path;  // custom resources
};

// Where a custom resource keeps what its scale subresource shows: ".spec.replicas".
struct ScalePaths {
  std::string spec_replicas;
  std::string status_replicas;
  std::string label_selector;
};

struct ResourceInfo {
  ResourceType type;
  std::string singular;
  std::vector<std::string> short_names;
  std::vector<std::string> categories;    // "all"
  std::vector<std::string> verbs;         // as discovery lists them
  std::vector<std::string> subresources;  // "status", "eviction", "binding", "scale"
  const Schema* schema = nullptr;         // null: anything goes
  // Where its objects are stored: types that share it are views of the same objects (core and
  // events.k8s.io events; the versions of a CRD).
  std::string storage;
  bool custom = false;
  std::vector<Column> columns;         // of a custom resource
  std::shared_ptr<SchemaSet> schemas;  // keeps `schema` of a custom resource alive
  Document open_api;                   // of a custom resource: openAPIV3Schema as it was given
  std::string list_kind;               // "PodList"
  ScalePaths scale;                    // of a custom resource with the scale subresource
  std::vector<std::string> selectable_fields;  // of a custom resource: ".spec.color"
  std::string deprecation_warning;             // of a deprecated version: sent with every answer
  bool has(std::string_view subresource) const;
};

struct GroupVersions {
  std::string group;
  std::vector<std::string> versions;
};

// A pointer to a ResourceInfo stays valid as long as the table, also when its CRD has changed or
// gone: a watch may hold it.
class ResourceTable {
 public:
  explicit ResourceTable(const BuiltinSchemas& schemas);

  const ResourceInfo* find(std::string_view group, std::string_view version,
                           std::string_view plural) const;
  const ResourceInfo* find(const ResourceType& type) const;
  // By apiVersion and kind, as in an object's header or an ownerReference.
  const ResourceInfo* find_kind(std::string_view api_version, std::string_view kind) const;
  // All, sorted by group, version, plural ("" first).
  std::vector<const ResourceInfo*> all() const;
  // Those of one group and version, sorted by plural.
  std::vector<const ResourceInfo*> of(std::string_view group, std::string_view version) const;
  // In the order of discovery, core left out: clients take the first group that knows a short name.
  // The first version of a group is the preferred one.
  std::vector<GroupVersions> groups() const;
  bool has_group_version(std::string_view group, std::string_view version) const;
  // Grows by one with every change: discovery and OpenAPI documents are cached by it.
  uint64_t generation() const { return generation_; }

  // Serves a CRD (all its served versions), replacing what it served before. The CRD was validated.
  void add_custom(const Json& crd);
  void remove_custom(std::string_view crd_name);

 private:
  struct Key {
    std::string group, version, plural;
  };
  struct KeyView {
    std::string_view group, version, plural;
  };
  struct KeyLess {
    using is_transparent = void;
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      if (int order = std::string_view(a.group).compare(b.group)) return order < 0;
      if (int order = std::string_view(a.version).compare(b.version)) return order < 0;
      return std::string_view(a.plural) < std::string_view(b.plural);
    }
  };
  struct Custom {
    Json spec;
    std::vector<Key> keys;
  };

  void add(std::unique_ptr<ResourceInfo> info);
  void retire(const Key& key);

  const BuiltinSchemas& builtin_;
  std::map<Key, std::unique_ptr<ResourceInfo>, KeyLess> table_;
  std::map<std::string, const ResourceInfo*, std::less<>> by_kind_;  // "apps/v1 DaemonSet"
  std::vector<std::string> group_order_;                             // of the built-in groups
  std::map<std::string, Custom, std::less<>> custom_;                // by CRD name
  std::vector<std::unique_ptr<ResourceInfo>> retired_;
  uint64_t generation_ = 1;
};

// Checks a CustomResourceDefinition (names, versions, exactly one storage version, structural
// schemas) and fills in its defaults (singular, listKind, conversion None). Causes: why it is
// refused.
std::vector<StatusCause> prepare_crd(Json& crd, const BuiltinSchemas& schemas);

}  // namespace lockstep::apiserver

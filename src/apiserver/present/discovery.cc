#include "apiserver/present/discovery.h"

#include "apiserver/present/subresources.h"

namespace lockstep::apiserver {

namespace {

JsonObject response_kind(std::string_view group, std::string_view version, std::string_view kind) {
  return {{"group", group}, {"version", version}, {"kind", kind}};
}

// Built-in resources leave out what their group and version say already; custom ones do not.
JsonObject response_kind_of(const ResourceInfo& info) {
  if (info.custom) return response_kind(info.type.group, info.type.version, info.type.kind);
  return response_kind("", "", info.type.kind);
}

bool is_same_kind(const Subresource& sub, const ResourceType& type) {
  return sub.group == type.group && sub.version == type.version && sub.kind == type.kind;
}

JsonObject aggregated_resource(const ResourceInfo& info) {
  JsonObject resource;
  resource["resource"] = info.type.plural;
  resource["responseKind"] = response_kind_of(info);
  resource["scope"] = info.type.namespaced ? "Namespaced" : "Cluster";
  resource["singularResource"] = info.singular;
  resource["verbs"] = texts_to_json(info.verbs);
  if (!info.short_names.empty()) resource["shortNames"] = texts_to_json(info.short_names);
  if (!info.categories.empty()) resource["categories"] = texts_to_json(info.categories);
  JsonArray subresources;
  for (const std::string& name : info.subresources) {
    Subresource sub = describe_subresource(info, name);
    JsonObject entry;
    entry["subresource"] = name;
    entry["responseKind"] = is_same_kind(sub, info.type)
                                ? response_kind_of(info)
                                : response_kind(sub.group, sub.version, sub.kind);
    entry["verbs"] = texts_to_json(sub.verbs);
    subresources.push_back(std::move(entry));
  }
  if (!subresources.empty()) resource["subresources"] = std::move(subresources);
  return resource;
}

JsonObject aggregated_version(const ResourceTable& table, std::string_view group,
                              std::string_view version) {
  JsonArray resources;
  for (const ResourceInfo* info : table.of(group, version)) {
    resources.push_back(aggregated_resource(*info));
  }
  return {{"version", version}, {"resources", std::move(resources)}, {"freshness", "Current"}};
}

JsonObject aggregated_group(const ResourceTable& table, const GroupVersions& group) {
  JsonObject metadata;
  if (!group.group.empty()) metadata["name"] = group.group;
  metadata["creationTimestamp"] = nullptr;
  JsonArray versions;
  for (const std::string& version : group.versions) {
    versions.push_back(aggregated_version(table, group.group, version));
  }
  return {{"metadata", std::move(metadata)}, {"versions", std::move(versions)}};
}

JsonObject group_version(const std::string& group, const std::string& version) {
  return {{"groupVersion", group + "/" + version}, {"version", version}};
}

JsonObject group_json(const GroupVersions& group) {
  JsonObject object;
  object["name"] = group.group;
  JsonArray versions;
  for (const std::string& version : group.versions) {
    versions.push_back(group_version(group.group, version));
  }
  object["versions"] = std::move(versions);
  object["preferredVersion"] = group_version(group.group, group.versions.front());
  return object;
}

JsonObject legacy_resource(const ResourceInfo& info) {
  JsonObject resource;
  resource["name"] = info.type.plural;
  resource["singularName"] = info.singular;
  resource["namespaced"] = info.type.namespaced;
  resource["kind"] = info.type.kind;
  resource["verbs"] = texts_to_json(info.verbs);
  if (!info.short_names.empty()) resource["shortNames"] = texts_to_json(info.short_names);
  if (!info.categories.empty()) resource["categories"] = texts_to_json(info.categories);
  return resource;
}

JsonObject legacy_subresource(const ResourceInfo& info, const std::string& name) {
  Subresource sub = describe_subresource(info, name);
  JsonObject resource;
  resource["name"] = info.type.plural + "/" + name;
  resource["singularName"] = "";
  resource["namespaced"] = info.type.namespaced;
  if (!is_same_kind(sub, info.type) && !sub.group.empty()) {
    resource["group"] = sub.group;
    resource["version"] = sub.version;
  }
  resource["kind"] = sub.kind;
  resource["verbs"] = texts_to_json(sub.verbs);
  return resource;
}

}  // namespace

Json api_versions() {
  return JsonObject{{"kind", "APIVersions"},
                    {"versions", JsonArray{"v1"}},
                    {"serverAddressByClientCIDRs", JsonArray()}};
}

Json api_groups(const ResourceTable& table) {
  JsonArray groups;
  for (const GroupVersions& group : table.groups()) groups.push_back(group_json(group));
  return JsonObject{{"kind", "APIGroupList"}, {"apiVersion", "v1"}, {"groups", std::move(groups)}};
}

std::optional<Json> api_group(const ResourceTable& table, std::string_view group) {
  for (const GroupVersions& known : table.groups()) {
    if (known.group != group) continue;
    JsonObject object{{"kind", "APIGroup"}, {"apiVersion", "v1"}};
    for (auto& entry : group_json(known)) object.insert(entry);
    return object;
  }
  return std::nullopt;
}

std::optional<Json> api_resources(const ResourceTable& table, std::string_view group,
                                  std::string_view version) {
  if (!table.has_group_version(group, version)) return std::nullopt;
  JsonArray resources;
  for (const ResourceInfo* info : table.of(group, version)) {
    resources.push_back(legacy_resource(*info));
    for (const std::string& name : info->subresources) {
      resources.push_back(legacy_subresource(*info, name));
    }
  }
  std::string name = group.empty() ? std::string(version) : fmt::format("{}/{}", group, version);
  JsonObject list{{"kind", "APIResourceList"}};
  if (!group.empty()) list["apiVersion"] = "v1";
  list["groupVersion"] = name;
  list["resources"] = std::move(resources);
  return list;
}

Json aggregated_discovery(const ResourceTable& table, bool core, std::string_view version) {
  JsonArray items;
  if (core) {
    items.push_back(aggregated_group(table, {"", {"v1"}}));
  } else {
    for (const GroupVersions& group : table.groups())
      items.push_back(aggregated_group(table, group));
  }
  return JsonObject{{"kind", "APIGroupDiscoveryList"},
                    {"apiVersion", fmt::format("apidiscovery.k8s.io/{}", version)},
                    {"metadata", JsonObject()},
                    {"items", std::move(items)}};
}

Json server_version() {
  return JsonObject{{"major", "1"},
                    {"minor", "34"},
                    {"emulationMajor", "1"},
                    {"emulationMinor", "34"},
                    {"minCompatibilityMajor", "1"},
                    {"minCompatibilityMinor", "33"},
                    {"gitVersion", "v1.34.1+lockstep"},
                    {"gitCommit", "lockstep"},
                    {"gitTreeState", "clean"},
                    {"buildDate", "2025-09-09T19:44:50Z"},
                    {"goVersion", "none"},
                    {"compiler", "g++"},
                    {"platform", "linux/amd64"}};
}

}  // namespace lockstep::apiserver

#include "apiserver/schema/resources.h"

#include <algorithm>

#include "apiserver/schema/builtin_text.h"
#include "apiserver/schema/crd.h"
#include "base/strings.h"

namespace lockstep::apiserver {

namespace {

std::vector<std::string> words(std::string_view text, char separator) {
  std::vector<std::string> result;
  for (std::string_view word : split(text, separator)) result.emplace_back(word);
  return result;
}

// Core and events.k8s.io events are two views of the same objects.
std::string storage_of(const ResourceType& type) {
  return type.group == "events.k8s.io" ? type.plural : type.full_name();
}

void read_fact(ResourceInfo& info, std::string_view fact) {
  size_t equals = fact.find('=');
  std::string_view name = fact.substr(0, equals);
  std::string_view value = fact.substr(equals + 1);
  if (name == "short") info.short_names = words(value, ',');
  if (name == "categories") info.categories = words(value, ',');
  if (name == "sub") info.subresources = words(value, ',');
}

// A line of builtin_resources.txt.
std::unique_ptr<ResourceInfo> read_resource(std::string_view line, const BuiltinSchemas& schemas) {
  std::vector<std::string_view> parts = split(line, ' ');
  if (parts.size() < 7) return nullptr;
  auto info = std::make_unique<ResourceInfo>();
  if (parts[0] != "-") info->type.group = parts[0];
  info->type.version = parts[1];
  info->type.plural = parts[2];
  info->type.kind = parts[3];
  info->singular = parts[4];
  info->type.namespaced = parts[5] == "Namespaced";
  info->verbs = words(
      parts[6] == "all" ? "create,delete,deletecollection,get,list,patch,update,watch" : parts[6],
      ',');
  for (size_t i = 7; i < parts.size(); ++i) read_fact(*info, parts[i]);
  info->list_kind = info->type.kind + "List";
  info->storage = storage_of(info->type);
  info->schema = schemas.of(info->type.group, info->type.version, info->type.kind);
  return info;
}

std::string kind_key(std::string_view api_version, std::string_view kind) {
  return fmt::format("{} {}", api_version, kind);
}

}  // namespace

bool ResourceInfo::has(std::string_view subresource) const {
  return std::find(subresources.begin(), subresources.end(), subresource) != subresources.end();
}

ResourceTable::ResourceTable(const BuiltinSchemas& schemas) : builtin_(schemas) {
  for (std::string_view line : split(builtin_resources_text, '\n')) {
    if (line.empty() || line.front() == '#') continue;
    std::unique_ptr<ResourceInfo> info = read_resource(line, schemas);
    if (!info) continue;
    const std::string& group = info->type.group;
    bool known = std::find(group_order_.begin(), group_order_.end(), group) != group_order_.end();
    if (!known) group_order_.push_back(group);
    add(std::move(info));
  }
}

void ResourceTable::add(std::unique_ptr<ResourceInfo> info) {
  const ResourceType& type = info->type;
  by_kind_[kind_key(type.api_version(), type.kind)] = info.get();
  Key key{type.group, type.version, type.plural};
  table_[std::move(key)] = std::move(info);
}

void ResourceTable::retire(const Key& key) {
  auto found = table_.find(key);
  if (found == table_.end()) return;
  const ResourceType& type = found->second->type;
  by_kind_.erase(kind_key(type.api_version(), type.kind));
  retired_.push_back(std::move(found->second));
  table_.erase(found);
}

const ResourceInfo* ResourceTable::find(std::string_view group, std::string_view version,
                                        std::string_view plural) const {
  auto found = table_.find(KeyView{group, version, plural});
  return found == table_.end() ? nullptr : found->second.get();
}

const ResourceInfo* ResourceTable::find(const ResourceType& type) const {
  return find(type.group, type.version, type.plural);
}

const ResourceInfo* ResourceTable::find_kind(std::string_view api_version,
                                             std::string_view kind) const {
  auto found = by_kind_.find(kind_key(api_version, kind));
  return found == by_kind_.end() ? nullptr : found->second;
}

std::vector<const ResourceInfo*> ResourceTable::all() const {
  std::vector<const ResourceInfo*> result;
  result.reserve(table_.size());
  for (const auto& [key, info] : table_) result.push_back(info.get());
  return result;
}

std::vector<const ResourceInfo*> ResourceTable::of(std::string_view group,
                                                   std::string_view version) const {
  std::vector<const ResourceInfo*> result;
  auto it = table_.lower_bound(KeyView{group, version, ""});
  for (; it != table_.end() && it->first.group == group && it->first.version == version; ++it) {
    result.push_back(it->second.get());
  }
  return result;
}

bool ResourceTable::has_group_version(std::string_view group, std::string_view version) const {
  auto it = table_.lower_bound(KeyView{group, version, ""});
  return it != table_.end() && it->first.group == group && it->first.version == version;
}

std::vector<GroupVersions> ResourceTable::groups() const {
  std::map<std::string, std::vector<std::string>> versions;
  for (const auto& [key, info] : table_) {
    std::vector<std::string>& list = versions[key.group];
    if (std::find(list.begin(), list.end(), key.version) == list.end()) list.push_back(key.version);
  }
  versions.erase("");
  std::vector<GroupVersions> result;
  auto take = [&](const std::string& group) {
    auto found = versions.find(group);
    if (found == versions.end()) return;
    std::sort(found->second.begin(), found->second.end(), version_before);
    result.push_back({group, std::move(found->second)});
    versions.erase(found);
  };
  for (const std::string& group : group_order_) take(group);
  while (!versions.empty()) take(std::string(versions.begin()->first));
  return result;
}

void ResourceTable::add_custom(const Json& crd) {
  std::string name(text_at(crd, "metadata", "name"));
  const Json* spec = lockstep::find(crd, "spec");
  if (name.empty() || spec == nullptr) return;
  auto known = custom_.find(name);
  // Most updates of a CRD touch its status only.
  if (known != custom_.end() && json_equal(known->second.spec, *spec)) return;
  remove_custom(name);
  Custom custom{*spec, {}};
  for (std::unique_ptr<ResourceInfo>& info : resources_from_crd(crd, builtin_)) {
    // A built-in resource cannot be taken over.
    if (find(info->type) != nullptr) continue;
    custom.keys.push_back({info->type.group, info->type.version, info->type.plural});
    add(std::move(info));
  }
  custom_.emplace(std::move(name), std::move(custom));
  ++generation_;
}

void ResourceTable::remove_custom(std::string_view crd_name) {
  auto found = custom_.find(crd_name);
  if (found == custom_.end()) return;
  for (const Key& key : found->second.keys) retire(key);
  custom_.erase(found);
  ++generation_;
}

}  // namespace lockstep::apiserver

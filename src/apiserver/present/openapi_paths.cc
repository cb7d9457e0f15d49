#include <algorithm>

#include "apiserver/present/openapi.h"
#include "apiserver/present/subresources.h"
#include "base/strings.h"

namespace lockstep::apiserver {

namespace {

struct Parameter {
  std::string_view name;
  std::string_view type;
};

constexpr Parameter list_parameters[] = {
    {"allowWatchBookmarks", "boolean"},
    {"continue", "string"},
    {"fieldSelector", "string"},
    {"labelSelector", "string"},
    {"limit", "integer"},
    {"resourceVersion", "string"},
    {"resourceVersionMatch", "string"},
    {"sendInitialEvents", "boolean"},
    {"timeoutSeconds", "integer"},
    {"watch", "boolean"},
};
constexpr Parameter write_parameters[] = {
    {"dryRun", "string"}, {"fieldManager", "string"}, {"fieldValidation", "string"}};
constexpr Parameter patch_parameters[] = {{"dryRun", "string"},
                                          {"fieldManager", "string"},
                                          {"fieldValidation", "string"},
                                          {"force", "boolean"}};
constexpr Parameter delete_parameters[] = {{"dryRun", "string"},
                                           {"gracePeriodSeconds", "integer"},
                                           {"orphanDependents", "boolean"},
                                           {"propagationPolicy", "string"}};

constexpr std::string_view delete_options = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions";
constexpr std::string_view status_type = "io.k8s.apimachinery.pkg.apis.meta.v1.Status";

// "rbac.authorization.k8s.io": RbacAuthorization.
std::string camel_case(std::string_view text) {
  std::string result;
  for (std::string_view part : split(text, '.')) {
    if (part.empty()) continue;
    result += static_cast<char>(std::toupper(static_cast<unsigned char>(part.front())));
    result += part.substr(1);
  }
  return result;
}

std::string group_word(std::string_view group) {
  if (group.empty()) return "Core";
  if (group.ends_with(".k8s.io")) group.remove_suffix(7);
  return camel_case(group);
}

class PathWriter {
 public:
  PathWriter(OpenApi version, SchemaWriter& schemas) : version_(version), schemas_(schemas) {}

  JsonObject paths;

  void write(const ResourceInfo& info) {
    const ResourceType& type = info.type;
    std::string root = type.group.empty() ? "/api/" + type.version
                                          : fmt::format("/apis/{}/{}", type.group, type.version);
    std::string all = fmt::format("{}/{}", root, type.plural);
    std::string collection =
        type.namespaced ? fmt::format("{}/namespaces/{{namespace}}/{}", root, type.plural) : all;
    std::string named = collection + "/{name}";
    info_ = &info;
    scope_ = type.namespaced ? "Namespaced" : "";
    write_collection(collection);
    if (has("get")) write_named(named);
    if (type.namespaced && has("list")) {
      scope_ = "";
      JsonObject item;
      item["get"] = list_operation("ForAllNamespaces");
      add(all, std::move(item), false, false);
      scope_ = "Namespaced";
    }
    for (const std::string& name : info.subresources) write_subresource(named + "/" + name, name);
  }

 private:
  bool has(std::string_view verb) const {
    return std::find(info_->verbs.begin(), info_->verbs.end(), verb) != info_->verbs.end();
  }

  void add(const std::string& path, JsonObject item, bool in_namespace, bool named) {
    JsonArray parameters;
    if (named) parameters.push_back(path_parameter("name"));
    if (in_namespace) parameters.push_back(path_parameter("namespace"));
    if (!parameters.empty()) item["parameters"] = std::move(parameters);
    paths[path] = std::move(item);
  }

  JsonObject typed(std::string_view type) const {
    if (version_ == OpenApi::v2) return {{"type", type}, {"uniqueItems", true}};
    return {{"schema", JsonObject{{"type", type}, {"uniqueItems", true}}}};
  }

  JsonObject path_parameter(std::string_view name) const {
    JsonObject parameter{{"name", name}, {"in", "path"}, {"required", true}};
    for (auto& entry : typed("string")) parameter.insert(entry);
    return parameter;
  }

  template <size_t size>
  JsonArray query(const Parameter (&parameters)[size]) const {
    JsonArray array;
    for (const Parameter& each : parameters) {
      JsonObject parameter{{"name", each.name}, {"in", "query"}};
      for (auto& entry : typed(each.type)) parameter.insert(entry);
      array.push_back(std::move(parameter));
    }
    return array;
  }

  JsonObject content(const JsonObject& schema, const std::vector<std::string>& types) const {
    JsonObject result;
    for (const std::string& type : types) result[type] = JsonObject{{"schema", schema}};
    return result;
  }

  JsonObject answer(const JsonObject& schema) const {
    JsonObject response{{"description", "OK"}};
    if (version_ == OpenApi::v2) {
      response["schema"] = schema;
    } else {
      response["content"] = content(schema, {"application/json", "application/yaml"});
    }
    return response;
  }

  void set_body(JsonObject& operation, const JsonObject& schema,
                const std::vector<std::string>& types) {
    if (version_ == OpenApi::v3) {
      operation["requestBody"] =
          JsonObject{{"content", content(schema, types)}, {"required", true}};
      return;
    }
    JsonArray& parameters = operation["parameters"].get_array();
    parameters.push_back(
        JsonObject{{"name", "body"}, {"in", "body"}, {"required", true}, {"schema", schema}});
    JsonArray consumes;
    for (const std::string& type : types) consumes.emplace_back(type);
    operation["consumes"] = std::move(consumes);
  }

  JsonObject operation(std::string_view action, std::string_view verb, std::string_view suffix,
                       JsonArray parameters, const JsonObject& schema) const {
    const ResourceType& type = info_->type;
    JsonObject result;
    result["operationId"] = fmt::format("{}{}{}{}{}{}", verb, group_word(type.group),
                                        camel_case(type.version), scope_, type.kind, suffix);
    result["parameters"] = std::move(parameters);
    result["responses"] = JsonObject{{"200", answer(schema)}};
    result["x-kubernetes-action"] = action;
    result["x-kubernetes-group-version-kind"] =
        JsonObject{{"group", type.group}, {"kind", type.kind}, {"version", type.version}};
    return result;
  }

  JsonObject list_operation(std::string_view suffix) {
    return operation("list", "list", suffix, query(list_parameters), schemas_.refer_list(*info_));
  }

  JsonObject write_operation(std::string_view action, std::string_view verb,
                             std::string_view suffix, const JsonObject& schema) {
    JsonObject result = operation(action, verb, suffix, query(write_parameters), schema);
    set_body(result, schema, {"*/*"});
    return result;
  }

  JsonObject patch_operation(std::string_view suffix, const JsonObject& schema) {
    JsonObject result = operation("patch", "patch", suffix, query(patch_parameters), schema);
    std::vector<std::string> types = {"application/apply-patch+yaml", "application/json-patch+json",
                                      "application/merge-patch+json"};
    // Its absence means to kubectl apply that a custom resource takes merge patches only.
    if (!info_->custom) types.emplace_back("application/strategic-merge-patch+json");
    set_body(result, JsonObject{{"type", "object"}}, types);
    return result;
  }

  JsonObject delete_operation(std::string_view action, std::string_view verb) {
    JsonObject result =
        operation(action, verb, "", query(delete_parameters), schemas_.refer(status_type));
    set_body(result, schemas_.refer(delete_options), {"*/*"});
    return result;
  }

  void write_collection(const std::string& path) {
    JsonObject item;
    if (has("list")) item["get"] = list_operation("");
    if (has("create")) item["post"] = write_operation("post", "create", "", schemas_.refer(*info_));
    if (has("deletecollection")) {
      item["delete"] = delete_operation("deletecollection", "deleteCollection");
    }
    add(path, std::move(item), info_->type.namespaced, false);
  }

  void write_named(const std::string& path) {
    JsonObject schema = schemas_.refer(*info_);
    JsonObject item;
    item["get"] = operation("get", "read", "", JsonArray(), schema);
    if (has("update")) item["put"] = write_operation("put", "replace", "", schema);
    if (has("patch")) item["patch"] = patch_operation("", schema);
    if (has("delete")) item["delete"] = delete_operation("delete", "delete");
    add(path, std::move(item), info_->type.namespaced, true);
  }

  void write_subresource(const std::string& path, const std::string& name) {
    Subresource sub = describe_subresource(*info_, name);
    JsonObject schema = sub.kind == info_->type.kind
                            ? schemas_.refer(*info_)
                            : schemas_.refer(fmt::format("io.k8s.api.{}.{}.{}",
                                                         sub.group.empty() ? "core" : sub.group,
                                                         sub.version, sub.kind));
    std::string suffix = camel_case(name);
    JsonObject item;
    for (const std::string& verb : sub.verbs) {
      if (verb == "get") item["get"] = operation("get", "read", suffix, JsonArray(), schema);
      if (verb == "update") item["put"] = write_operation("put", "replace", suffix, schema);
      if (verb == "patch") item["patch"] = patch_operation(suffix, schema);
      if (verb == "create") item["post"] = write_operation("post", "create", suffix, schema);
    }
    for (auto& entry : item) {
      entry.value().get_object()["x-kubernetes-group-version-kind"] =
          JsonObject{{"group", sub.group}, {"kind", sub.kind}, {"version", sub.version}};
    }
    add(path, std::move(item), info_->type.namespaced, true);
  }

  OpenApi version_;
  SchemaWriter& schemas_;
  const ResourceInfo* info_ = nullptr;
  std::string_view scope_;
};

}  // namespace

JsonObject paths_of(const std::vector<const ResourceInfo*>& resources, OpenApi version,
                    SchemaWriter& writer) {
  PathWriter paths(version, writer);
  for (const ResourceInfo* info : resources) paths.write(*info);
  return std::move(paths.paths);
}

}  // namespace lockstep::apiserver

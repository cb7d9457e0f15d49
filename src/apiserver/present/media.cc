#include "apiserver/present/media.h"

#include "apiserver/present/protobuf.h"
#include "base/strings.h"
#include "data/yaml.h"

namespace lockstep::apiserver {

namespace {

struct MediaType {
  std::string name;
  std::vector<std::pair<std::string, std::string>> parameters;
  std::string parameter(std::string_view key) const {
    for (const auto& [name_of, value] : parameters) {
      if (name_of == key) return value;
    }
    return {};
  }
};

MediaType parse_media_type(std::string_view text) {
  MediaType type;
  bool first = true;
  for (std::string_view part : split(text, ';')) {
    part = trim(part);
    if (first) {
      type.name = lower(part);
      first = false;
      continue;
    }
    size_t equals = part.find('=');
    if (equals == std::string_view::npos) continue;
    type.parameters.emplace_back(std::string(trim(part.substr(0, equals))),
                                 std::string(trim(part.substr(equals + 1))));
  }
  return type;
}

std::optional<Wanted> understood(const MediaType& type) {
  Wanted wanted;
  if (type.name == "application/yaml")
    wanted.yaml = true;
  else if (type.name != "application/json" && type.name != "*/*" && type.name != "application/*")
    return std::nullopt;
  std::string as = type.parameter("as");
  if (as.empty()) return wanted;
  std::string version = type.parameter("v");
  if (type.parameter("g") != "meta.k8s.io" || (version != "v1" && version != "v1beta1"))
    return std::nullopt;
  if (as == "Table")
    wanted.shape = Shape::table;
  else if (as == "PartialObjectMetadata" || as == "PartialObjectMetadataList")
    wanted.shape = Shape::metadata;
  else
    return std::nullopt;
  return wanted;
}

const std::vector<std::string>& patch_types() {
  static const std::vector<std::string> types = {
      "application/json-patch+json", "application/merge-patch+json",
      "application/strategic-merge-patch+json", "application/apply-patch+yaml"};
  return types;
}

}  // namespace

Outcome<Wanted> negotiate(std::string_view accept, const kube::Request* request) {
  std::optional<Wanted> wanted;
  if (trim(accept).empty()) wanted = Wanted{};
  for (std::string_view part : split(accept, ',')) {
    if (!wanted) wanted = understood(parse_media_type(part));
  }
  if (!wanted) {
    StatusError error;
    error.code = 406;
    error.reason = "NotAcceptable";
    error.message =
        "only the following media types are accepted: application/json, application/yaml";
    return Refusal(std::move(error));
  }
  if (request == nullptr) return *wanted;
  if (const std::string* pretty = request->find_query("pretty"))
    wanted->pretty = *pretty == "true" || *pretty == "1";
  if (const std::string* include = request->find_query("includeObject")) {
    if (*include == "None")
      wanted->include = IncludeObject::none;
    else if (*include == "Object")
      wanted->include = IncludeObject::object;
    else if (*include != "Metadata" && !include->empty()) {
      return Refusal(bad_request("includeObject must be one of None, Metadata, Object"));
    }
  }
  return *wanted;
}

bool is_protobuf(std::string_view content_type) {
  return parse_media_type(content_type).name == protobuf_media_type;
}

Outcome<kube::PatchType> patch_type_of(std::string_view content_type) {
  std::string name = parse_media_type(content_type).name;
  for (auto type : {kube::PatchType::json, kube::PatchType::merge, kube::PatchType::strategic,
                    kube::PatchType::apply}) {
    if (name == kube::content_type(type)) return type;
  }
  return Refusal(unsupported_media_type(name, patch_types()));
}

Outcome<Document> read_body(std::string_view body, std::string_view content_type, bool is_patch) {
  if (trim(body).empty()) return Document();
  std::string name = parse_media_type(content_type).name;
  bool yaml = name == "application/yaml" || name == "application/apply-patch+yaml";
  bool json = name.empty() || name == "application/json" || is_patch;
  if (!yaml && !json)
    return Refusal(unsupported_media_type(name, {"application/json", "application/yaml"}));
  Result<Json> parsed = yaml ? parse_yaml(body) : parse_json(body);
  if (!parsed) {
    return Refusal(bad_request(fmt::format("the body of the request is no valid {}: {}",
                                           yaml ? "YAML" : "JSON", parsed.error().text())));
  }
  return std::make_shared<const Json>(std::move(*parsed));
}

Json partial_metadata(const Json& object) {
  JsonObject partial{{"kind", "PartialObjectMetadata"}, {"apiVersion", "meta.k8s.io/v1"}};
  if (const Json* metadata = find(object, "metadata")) partial["metadata"] = *metadata;
  return partial;
}

}  // namespace lockstep::apiserver

// A CustomResourceDefinition that is about to be stored: defaults, then every check of the real
// server but the cost of CEL rules (x-kubernetes-validations are kept and shown, not evaluated).
#include <set>

#include "apiserver/schema/crd.h"
#include "base/strings.h"
#include "objects/names.h"

namespace lockstep::apiserver {

namespace {

constexpr std::string_view approval_annotation = "api-approved.kubernetes.io";

void set_if_empty(JsonObject& object, std::string_view key, const std::string& value) {
  if (value.empty()) return;
  Json& current = object[key];
  if (as_text(&current).empty()) current = value;
}

void set_defaults(JsonObject& crd) {
  JsonObject& spec = ensure_object(crd, "spec");
  JsonObject& names = ensure_object(spec, "names");
  std::string kind(as_text(names.if_contains("kind")));
  set_if_empty(names, "singular", lower(kind));
  set_if_empty(names, "listKind", kind.empty() ? "" : kind + "List");
  if (find(spec, "conversion") == nullptr || spec["conversion"].is_null()) {
    spec["conversion"] = JsonObject{{"strategy", "None"}};
  }
}

void set_stored_versions(JsonObject& crd) {
  JsonObject& status = ensure_object(crd, "status");
  Json& stored = status["storedVersions"];
  if (stored.is_array() && !stored.get_array().empty()) return;
  JsonArray names;
  const Json* list = find(crd.at("spec"), "versions");
  if (list != nullptr && list->is_array()) {
    for (const Json& version : list->get_array()) {
      if (as_bool(find(version, "storage"))) {
        names.emplace_back(text_at(version, "name"));
        break;
      }
    }
  }
  stored = std::move(names);
}

class CrdCheck {
 public:
  explicit CrdCheck(const Json& crd, const BuiltinSchemas& schemas)
      : crd_(crd), spec_(*find(crd, "spec")), schemas_(schemas) {}

  std::vector<StatusCause> causes;

  void run() {
    name();
    group();
    scope();
    versions();
    names();
    conversion();
    approval();
    if (as_bool(find(spec_, "preserveUnknownFields"))) {
      causes.push_back(cause_invalid("spec.preserveUnknownFields", true,
                                     "cannot set to true, set "
                                     "x-kubernetes-preserve-unknown-fields to true in "
                                     "spec.versions[*].schema instead"));
    }
  }

 private:
  void invalid(std::string place, std::string_view text, std::string_view why) {
    causes.push_back(cause_invalid(std::move(place), Json(text), why));
  }

  void name() {
    std::string_view given = text_at(crd_, "metadata", "name");
    std::string wanted =
        fmt::format("{}.{}", text_at(spec_, "names", "plural"), text_at(spec_, "group"));
    if (given.empty()) {
      causes.push_back(cause_required("metadata.name", "name or generateName is required"));
      return;
    }
    for (const std::string& why : check_dns_subdomain(given)) invalid("metadata.name", given, why);
    if (given != wanted) {
      invalid("metadata.name", given, R"(must be spec.names.plural+"."+spec.group)");
    }
  }

  void group() {
    std::string_view given = text_at(spec_, "group");
    if (given.empty()) {
      causes.push_back(cause_required("spec.group"));
    } else if (Complaints complaints = check_dns_subdomain(given); !complaints.empty()) {
      invalid("spec.group", given, join(complaints, ","));
    } else if (given.find('.') == std::string_view::npos) {
      invalid("spec.group", given, "should be a domain with at least one dot");
    }
  }

  void scope() {
    std::string_view given = text_at(spec_, "scope");
    if (given.empty()) {
      causes.push_back(cause_required("spec.scope"));
    } else if (given != "Cluster" && given != "Namespaced") {
      causes.push_back(cause_unsupported("spec.scope", Json(given), {"Cluster", "Namespaced"}));
    }
  }

  void versions() {
    const Json* list = find(spec_, "versions");
    static const JsonArray none;
    const JsonArray& given = list != nullptr && list->is_array() ? list->get_array() : none;
    size_t storage_count = 0;
    std::set<std::string> seen;
    bool unique = true;
    for (size_t i = 0; i < given.size(); ++i) {
      std::string place = fmt::format("spec.versions[{}]", i);
      storage_count += as_bool(find(given[i], "storage")) ? 1 : 0;
      unique &= seen.insert(std::string(text_at(given[i], "name"))).second;
      version(given[i], place);
    }
    if (!unique) {
      causes.push_back(cause_invalid("spec.versions", given, "must contain unique version names"));
    }
    if (storage_count != 1) {
      causes.push_back(cause_invalid("spec.versions", given,
                                     "must have exactly one version marked as storage version"));
    }
    stored_versions(seen);
  }

  void version(const Json& version, const std::string& place) {
    std::string_view given = text_at(version, "name");
    if (Complaints complaints = check_dns1035_label(given); !complaints.empty()) {
      invalid(place + ".name", given, join(complaints, ","));
    }
    if (const Json* warning = find(version, "deprecationWarning"); warning && !warning->is_null()) {
      deprecation_warning(version, as_text(warning), place + ".deprecationWarning");
    }
    schema(version, place + ".schema.openAPIV3Schema");
    scale(version, place + ".subresources.scale");
    const Json* columns = find(version, "additionalPrinterColumns");
    if (columns == nullptr || !columns->is_array()) return;
    for (size_t i = 0; i < columns->get_array().size(); ++i) {
      column(columns->get_array()[i], fmt::format("{}.additionalPrinterColumns[{}]", place, i));
    }
  }

  void deprecation_warning(const Json& version, std::string_view text, std::string place) {
    if (!as_bool(find(version, "deprecated"))) {
      invalid(std::move(place), text, "can only be set for deprecated versions");
    } else if (text.empty()) {
      invalid(std::move(place), text, "must not be an empty string");
    } else if (text.size() > 256) {
      invalid(std::move(place), text, "must be <= 256 characters long");
    }
  }

  void schema(const Json& version, const std::string& place) {
    const Json* open_api = find(version, "schema", "openAPIV3Schema");
    if (open_api == nullptr || open_api->is_null()) {
      causes.push_back(cause_required(place));
      return;
    }
    SchemaSet set;
    auto built = schema_from_crd(
        *open_api, set, schemas_.find("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"), place);
    if (built) return;
    std::move(built.error().begin(), built.error().end(), std::back_inserter(causes));
  }

  void scale(const Json& version, const std::string& place) {
    const Json* scale = find(version, "subresources", "scale");
    if (scale == nullptr || scale->is_null()) return;
    json_path(*scale, "specReplicasPath", {".spec."}, true, "should be a json path under .spec",
              place);
    json_path(*scale, "statusReplicasPath", {".status."}, true,
              "should be a json path under .status", place);
    json_path(*scale, "labelSelectorPath", {".spec.", ".status."}, false,
              "should be a json path under either .spec or .status", place);
  }

  void json_path(const Json& scale, std::string_view key,
                 std::initializer_list<std::string_view> roots, bool required, std::string_view why,
                 const std::string& place) {
    std::string_view path = text_at(scale, key);
    std::string here = fmt::format("{}.{}", place, key);
    if (path.empty()) {
      if (required) causes.push_back(cause_required(here));
      return;
    }
    if (path.front() != '.')
      return invalid(here, path, "must be a simple json path starting with .");
    for (std::string_view root : roots) {
      if (path.starts_with(root)) return;
    }
    invalid(here, path, why);
  }

  void column(const Json& column, const std::string& place) {
    static const std::set<std::string_view> types = {"boolean", "date", "integer", "number",
                                                     "string"};
    constexpr std::string_view choices = "must be one of boolean,date,integer,number,string";
    if (text_at(column, "name").empty()) causes.push_back(cause_required(place + ".name"));
    std::string_view type = text_at(column, "type");
    if (type.empty()) {
      causes.push_back(cause_required(place + ".type", choices));
    } else if (!types.contains(type)) {
      invalid(place + ".type", type, choices);
    }
    std::string_view path = text_at(column, "jsonPath");
    if (path.empty()) {
      causes.push_back(cause_required(place + ".JSONPath"));
    } else if (path.front() != '.') {
      invalid(place + ".JSONPath", path, "must be a simple json path starting with .");
    }
  }

  void stored_versions(const std::set<std::string>& known) {
    const Json* stored = find(crd_, "status", "storedVersions");
    if (stored == nullptr || !stored->is_array()) return;
    for (size_t i = 0; i < stored->get_array().size(); ++i) {
      std::string name(as_text(&stored->get_array()[i]));
      if (known.contains(name)) continue;
      invalid(
          fmt::format("status.storedVersions[{}]", i), name,
          fmt::format("missing from spec.versions; {0} was previously a storage version, and must "
                      "remain in spec.versions until a storage migration ensures no data remains "
                      "persisted in {0} and removes {0} from status.storedVersions",
                      name));
    }
  }

  void names() {
    for (std::string_view key : {"plural", "singular", "kind", "listKind"}) {
      std::string_view given = text_at(spec_, "names", key);
      std::string place = fmt::format("spec.names.{}", key);
      if (given.empty()) {
        causes.push_back(cause_required(place));
        continue;
      }
      bool mixed = key == "kind" || key == "listKind";
      Complaints complaints = check_dns1035_label(mixed ? lower(given) : std::string(given));
      if (complaints.empty()) continue;
      invalid(place, given,
              (mixed ? "may have mixed case, but should otherwise match: " : "") +
                  join(complaints, ","));
    }
    if (!text_at(spec_, "names", "kind").empty() &&
        text_at(spec_, "names", "kind") == text_at(spec_, "names", "listKind")) {
      invalid("spec.names.listKind", text_at(spec_, "names", "listKind"),
              "kind and listKind may not be the same");
    }
    label_list("shortNames");
    label_list("categories");
  }

  void label_list(std::string_view key) {
    const Json* list = find(spec_, "names", key);
    if (list == nullptr || !list->is_array()) return;
    for (size_t i = 0; i < list->get_array().size(); ++i) {
      std::string_view given = as_text(&list->get_array()[i]);
      Complaints complaints = check_dns1035_label(given);
      if (!complaints.empty()) {
        invalid(fmt::format("spec.names.{}[{}]", key, i), given, join(complaints, ","));
      }
    }
  }

  void conversion() {
    std::string_view strategy = text_at(spec_, "conversion", "strategy");
    const Json* webhook = find(spec_, "conversion", "webhook");
    if (strategy.empty()) {
      causes.push_back(cause_required("spec.conversion.strategy"));
    } else if (strategy != "None" && strategy != "Webhook") {
      causes.push_back(
          cause_unsupported("spec.conversion.strategy", Json(strategy), {"None", "Webhook"}));
    } else if (strategy == "Webhook" && webhook == nullptr) {
      causes.push_back(cause_required("spec.conversion.webhookClientConfig",
                                      "required when strategy is set to Webhook"));
    } else if (strategy == "None" && webhook != nullptr && !webhook->is_null()) {
      causes.push_back(cause_forbidden("spec.conversion.webhookClientConfig",
                                       "should not be set when strategy is not set to Webhook"));
    }
  }

  // Groups of the Kubernetes community need a link to the approval of their API.
  void approval() {
    std::string_view group = text_at(spec_, "group");
    bool is_protected = group == "k8s.io" || group.ends_with(".k8s.io") ||
                        group == "kubernetes.io" || group.ends_with(".kubernetes.io");
    if (!is_protected) return;
    std::string place = fmt::format("metadata.annotations[{}]", approval_annotation);
    std::string_view given = text_at(crd_, "metadata", "annotations", approval_annotation);
    std::string see = "see https://github.com/kubernetes/enhancements/pull/1111";
    std::string must =
        fmt::format("protected groups must have approval annotation \"{}\"", approval_annotation);
    if (given.empty()) {
      causes.push_back(cause_required(place, fmt::format("{}, {}", must, see)));
    } else if (!given.starts_with("unapproved") && given.find("://") == std::string_view::npos) {
      invalid(place, given,
              fmt::format("{} with either a URL or a reason starting with \"unapproved\", {}", must,
                          see));
    }
  }

  const Json& crd_;
  const Json& spec_;
  const BuiltinSchemas& schemas_;
};

}  // namespace

std::vector<StatusCause> prepare_crd(Json& crd, const BuiltinSchemas& schemas) {
  if (!crd.is_object()) return {cause_type("", crd, "object")};
  set_defaults(crd.get_object());
  set_stored_versions(crd.get_object());
  CrdCheck check(crd, schemas);
  check.run();
  return std::move(check.causes);
}

}  // namespace lockstep::apiserver

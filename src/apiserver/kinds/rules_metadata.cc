#include "apiserver/kinds/builtin_rules.h"
#include "base/strings.h"

namespace lockstep::apiserver {

namespace {

constexpr size_t annotations_limit = 256 << 10;

// A prefix may end in a dash: the rest of the name is still to come.
std::string mask_trailing_dash(std::string_view prefix) {
  std::string masked(prefix);
  if (masked.size() > 1 && masked.ends_with('-')) masked[masked.size() - 1] = 'a';
  return masked;
}

void check_names(const ResourceInfo& info, const Json& object, Causes& causes) {
  const Kind& kind = kind_of(info);
  if (std::string_view prefix = text_at(object, "metadata", "generateName"); !prefix.empty()) {
    take_complaints(kind.check_name(mask_trailing_dash(prefix)), prefix, "metadata.generateName",
                    causes);
  }
  std::string_view name = text_at(object, "metadata", "name");
  if (name.empty()) {
    causes.push_back(cause_required("metadata.name", "name or generateName is required"));
  } else {
    take_complaints(kind.check_name(name), name, "metadata.name", causes);
  }
  if (kind.longest_name > 0 && name.size() > kind.longest_name) {
    take_complaints({fmt::format("must be no more than {} characters", kind.longest_name)}, name,
                    "metadata.name", causes);
  }
  std::string_view space = text_at(object, "metadata", "namespace");
  if (!info.type.namespaced) {
    if (!space.empty()) {
      causes.push_back(cause_forbidden("metadata.namespace", "not allowed on this type"));
    }
  } else if (space.empty()) {
    causes.push_back(cause_required("metadata.namespace"));
  } else {
    take_complaints(check_dns_label(space), space, "metadata.namespace", causes);
  }
}

// A key that was stored before was right then.
void check_annotations(const Json* annotations, const Json* before, const std::string& place,
                       Causes& causes) {
  if (annotations == nullptr || !annotations->is_object()) return;
  size_t size = 0;
  for (const auto& entry : annotations->get_object()) {
    if (before == nullptr || find(*before, entry.key()) == nullptr) {
      take_complaints(check_annotation_key(entry.key()), entry.key(), place, causes);
    }
    size += entry.key().size() + as_text(&entry.value()).size();
  }
  if (size > annotations_limit) {
    causes.push_back(
        cause_too_long(place, fmt::format("may not be more than {} bytes", annotations_limit)));
  }
}

void check_owner(const Json& owner, Causes& causes) {
  const std::string place = "metadata.ownerReferences";
  std::string_view api_version = text_at(owner, "apiVersion");
  if (api_version.empty() || api_version.ends_with('/')) {
    causes.push_back(
        cause_invalid(place + ".apiVersion", Json(api_version), "version must not be empty"));
  }
  for (const char* key : {"kind", "name", "uid"}) {
    if (text_at(owner, key).empty()) {
      causes.push_back(cause_invalid(fmt::format("{}.{}", place, key), "", "must not be empty"));
    }
  }
  if (api_version == "v1" && text_at(owner, "kind") == "Event") {
    causes.push_back(
        cause_invalid(place, owner, "/v1, Kind=Event is disallowed from being an owner"));
  }
}

// What is as it was stored was right then.
bool is_unchanged(const Json& object, const Json* before, std::string_view key) {
  if (before == nullptr) return false;
  const Json* is = find(object, "metadata", key);
  const Json* was = find(*before, "metadata", key);
  return is == nullptr || (was != nullptr && json_equal(*is, *was));
}

void check_owners(const Json& object, Causes& causes) {
  const Json* metadata = find(object, "metadata");
  if (metadata == nullptr) return;
  std::string controller;
  for (const Json& owner : array_at(*metadata, "ownerReferences")) {
    check_owner(owner, causes);
    if (!as_bool(find(owner, "controller"))) continue;
    std::string name = fmt::format("{}/{}", text_at(owner, "kind"), text_at(owner, "name"));
    if (controller.empty()) {
      controller = name;
      continue;
    }
    causes.push_back(
        cause_invalid("metadata.ownerReferences", *find(*metadata, "ownerReferences"),
                      fmt::format("Only one reference can have Controller set to true. "
                                  "Found \"true\" in references for {} and {}",
                                  controller, name)));
  }
}

void check_finalizers(const Json& object, Causes& causes) {
  const Json* metadata = find(object, "metadata");
  if (metadata == nullptr) return;
  bool orphan = false;
  bool foreground = false;
  for (const Json& finalizer : array_at(*metadata, "finalizers")) {
    std::string_view name = as_text(&finalizer);
    take_complaints(check_qualified_name(name), name, "metadata.finalizers", causes);
    orphan |= name == "orphan";
    foreground |= name == "foregroundDeletion";
  }
  if (orphan && foreground) {
    causes.push_back(cause_invalid("metadata.finalizers", *find(*metadata, "finalizers"),
                                   "finalizer orphan and foregroundDeletion cannot be both set"));
  }
}

}  // namespace

void check_labels(const Json* labels, const std::string& place, Causes& causes) {
  check_labels(labels, nullptr, place, causes);
}

void check_labels(const Json* labels, const Json* before, const std::string& place,
                  Causes& causes) {
  if (labels == nullptr || !labels->is_object()) return;
  for (const auto& entry : labels->get_object()) {
    const Json* was = before == nullptr ? nullptr : find(*before, entry.key());
    if (was != nullptr && *was == entry.value()) continue;
    take_complaints(check_qualified_name(entry.key()), entry.key(), place, causes);
    std::string_view value = as_text(&entry.value());
    take_complaints(check_label_value(value), value, place, causes);
  }
}

void check_metadata(const ResourceInfo& info, const Json& object, const Json* before,
                    Causes& causes) {
  if (before == nullptr) {
    check_names(info, object, causes);
    check_finalizers(object, causes);
  } else {
    for (const char* key : {"name", "namespace", "uid", "creationTimestamp"}) {
      check_unchanged(object, *before, "metadata", key, causes);
    }
  }
  if (!is_unchanged(object, before, "labels")) {
    check_labels(find(object, "metadata", "labels"),
                 before == nullptr ? nullptr : find(*before, "metadata", "labels"),
                 "metadata.labels", causes);
  }
  if (!is_unchanged(object, before, "annotations")) {
    check_annotations(find(object, "metadata", "annotations"),
                      before == nullptr ? nullptr : find(*before, "metadata", "annotations"),
                      "metadata.annotations", causes);
  }
  if (!is_unchanged(object, before, "ownerReferences")) check_owners(object, causes);
}

}  // namespace lockstep::apiserver

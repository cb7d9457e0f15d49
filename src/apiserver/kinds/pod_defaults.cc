#include "apiserver/kinds/builtin_defaults.h"
#include "base/strings.h"

namespace lockstep::apiserver {

namespace {

// "latest", also when no tag is written, is pulled every time. A digest is not a tag.
bool has_latest_tag(std::string_view image) {
  if (image.find('@') != std::string_view::npos) return false;
  size_t slash = image.rfind('/');
  std::string_view name = slash == std::string_view::npos ? image : image.substr(slash + 1);
  size_t colon = name.find(':');
  return colon == std::string_view::npos || name.substr(colon + 1) == "latest";
}

void default_http(JsonObject* action) {
  JsonObject* http = action == nullptr ? nullptr : object_in(*action, "httpGet");
  if (http == nullptr) return;
  set_default(*http, "path", "/");
  set_default(*http, "scheme", "HTTP");
}

void default_probe(JsonObject* probe) {
  if (probe == nullptr) return;
  default_http(probe);
  if (JsonObject* grpc = object_in(*probe, "grpc")) set_default(*grpc, "service", "");
  set_default(*probe, "timeoutSeconds", 1);
  set_default(*probe, "periodSeconds", 10);
  set_default(*probe, "successThreshold", 1);
  set_default(*probe, "failureThreshold", 3);
}

void default_field_reference(JsonObject& holder) {
  if (JsonObject* reference = object_in(holder, "fieldRef"))
    set_default(*reference, "apiVersion", "v1");
}

void default_container(JsonObject& container) {
  std::string_view image = as_text(container.if_contains("image"));
  set_default(container, "imagePullPolicy", has_latest_tag(image) ? "Always" : "IfNotPresent");
  set_default(container, "terminationMessagePath", "/dev/termination-log");
  set_default(container, "terminationMessagePolicy", "File");
  set_default(container, "resources", JsonObject());
  for_each_object(container, "ports",
                  [](JsonObject& port) { set_default(port, "protocol", "TCP"); });
  for_each_object(container, "env", [](JsonObject& variable) {
    if (JsonObject* from = object_in(variable, "valueFrom")) default_field_reference(*from);
  });
  for (const char* probe : {"livenessProbe", "readinessProbe", "startupProbe"}) {
    default_probe(object_in(container, probe));
  }
  if (JsonObject* lifecycle = object_in(container, "lifecycle")) {
    default_http(object_in(*lifecycle, "postStart"));
    default_http(object_in(*lifecycle, "preStop"));
  }
}

void default_volume(JsonObject& volume) {
  if (volume.size() == 1 && volume.contains("name")) volume["emptyDir"] = JsonObject();
  for (const char* kind : {"secret", "configMap", "downwardAPI", "projected"}) {
    if (JsonObject* source = object_in(volume, kind)) set_default(*source, "defaultMode", 420);
  }
  if (JsonObject* path = object_in(volume, "hostPath")) set_default(*path, "type", "");
  auto default_items = [](JsonObject& api) {
    for_each_object(api, "items", default_field_reference);
  };
  if (JsonObject* api = object_in(volume, "downwardAPI")) default_items(*api);
  JsonObject* projected = object_in(volume, "projected");
  if (projected == nullptr) return;
  for_each_object(*projected, "sources", [&](JsonObject& source) {
    if (JsonObject* token = object_in(source, "serviceAccountToken")) {
      set_default(*token, "expirationSeconds", 3600);
    }
    if (JsonObject* api = object_in(source, "downwardAPI")) default_items(*api);
  });
}

// A container that only says what it may use at most is taken to want as much.
void default_requests(JsonObject& container) {
  JsonObject* resources = object_in(container, "resources");
  JsonObject* limits = resources == nullptr ? nullptr : object_in(*resources, "limits");
  if (limits == nullptr || limits->empty()) return;
  JsonObject copy = *limits;
  JsonObject& requests = ensure_object(*resources, "requests");
  for (const auto& limit : copy) set_default(requests, limit.key(), limit.value());
}

}  // namespace

void set_default(JsonObject& object, std::string_view key, const Json& value) {
  Json& current = object[key];
  if (current.is_null()) current = value;
}

JsonObject* object_in(JsonObject& parent, std::string_view key) {
  Json* value = parent.if_contains(key);
  return value == nullptr ? nullptr : value->if_object();
}

void default_pod_spec(JsonObject& spec) {
  set_default(spec, "restartPolicy", "Always");
  set_default(spec, "terminationGracePeriodSeconds", 30);
  set_default(spec, "dnsPolicy", "ClusterFirst");
  set_default(spec, "securityContext", JsonObject());
  set_default(spec, "schedulerName", "default-scheduler");
  for_each_object(spec, "containers", default_container);
  for_each_object(spec, "initContainers", default_container);
  for_each_object(spec, "ephemeralContainers", default_container);
  for_each_object(spec, "volumes", default_volume);
  // The two names of the service account follow each other.
  std::string account(as_text(spec.if_contains("serviceAccountName")));
  if (account.empty()) account = as_text(spec.if_contains("serviceAccount"));
  if (!account.empty()) {
    spec["serviceAccountName"] = account;
    spec["serviceAccount"] = account;
  }
}

void default_pod(JsonObject& pod) {
  JsonObject& spec = ensure_object(pod, "spec");
  default_pod_spec(spec);
  set_default(spec, "enableServiceLinks", true);
  for_each_object(spec, "containers", default_requests);
  for_each_object(spec, "initContainers", default_requests);
  set_default(ensure_object(pod, "status"), "phase", "Pending");
}

}  // namespace lockstep::apiserver

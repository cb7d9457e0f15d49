// Volumes and storage classes.
#include <algorithm>

#include <fmt/format.h>

#include "apiserver/present/table_printers.h"
#include "base/strings.h"

namespace lockstep::apiserver {

namespace {

// "RWO,RWX": each once, in Kubernetes' order.
std::string access_modes(const Json* modes) {
  constexpr std::pair<std::string_view, const char*> known[] = {{"ReadWriteOnce", "RWO"},
                                                                {"ReadOnlyMany", "ROX"},
                                                                {"ReadWriteMany", "RWX"},
                                                                {"ReadWriteOncePod", "RWOP"}};
  std::vector<std::string> parts;
  const std::span<const Json> given = elements(modes);
  for (const auto& [mode, abbreviation] : known) {
    const bool has = std::any_of(given.begin(), given.end(),
                                 [&](const Json& one) { return as_text(&one) == mode; });
    if (has) parts.emplace_back(abbreviation);
  }
  return join(parts, ",");
}

// The annotation is from before there was a field.
std::string_view storage_class(const Json& object) {
  const std::string_view annotated =
      text_at(object, "metadata", "annotations", "volume.beta.kubernetes.io/storage-class");
  return annotated.empty() ? text_at(object, "spec", "storageClassName") : annotated;
}

std::string_view phase_of(const Json& object) {
  return is_deleting(object) ? "Terminating" : text_at(object, "status", "phase");
}

std::string claim_of(const Json& volume) {
  const Json* claim = find(volume, "spec", "claimRef");
  if (claim == nullptr || claim->is_null()) return "";
  return fmt::format("{}/{}", text_at(*claim, "namespace"), text_at(*claim, "name"));
}

void persistent_volume_cells(const Json& volume, Time now, JsonArray& cells) {
  cells.push_back(name_cell(volume));
  cells.push_back(text_or(text_at(volume, "spec", "capacity", "storage"), "0"));
  cells.push_back(text_cell(access_modes(find(volume, "spec", "accessModes"))));
  cells.push_back(text_cell(text_at(volume, "spec", "persistentVolumeReclaimPolicy")));
  cells.push_back(text_cell(phase_of(volume)));
  cells.push_back(text_cell(claim_of(volume)));
  cells.push_back(text_cell(storage_class(volume)));
  cells.push_back(text_or(text_at(volume, "spec", "volumeAttributesClassName"), "<unset>"));
  cells.push_back(text_cell(text_at(volume, "status", "reason")));
  cells.push_back(age_cell(volume, now));
  cells.push_back(text_or(text_at(volume, "spec", "volumeMode"), "Filesystem"));
}

void persistent_volume_claim_cells(const Json& claim, Time now, JsonArray& cells) {
  const std::string_view volume = text_at(claim, "spec", "volumeName");
  const bool is_bound = !volume.empty();
  cells.push_back(name_cell(claim));
  cells.push_back(text_cell(phase_of(claim)));
  cells.push_back(text_cell(volume));
  cells.push_back(is_bound ? text_or(text_at(claim, "status", "capacity", "storage"), "0")
                           : text_cell(""));
  cells.push_back(text_cell(is_bound ? access_modes(find(claim, "status", "accessModes")) : ""));
  cells.push_back(text_cell(storage_class(claim)));
  cells.push_back(text_or(text_at(claim, "spec", "volumeAttributesClassName"), "<unset>"));
  cells.push_back(age_cell(claim, now));
  cells.push_back(text_or(text_at(claim, "spec", "volumeMode"), "Filesystem"));
}

bool is_default_class(const Json& storage) {
  for (const char* annotation : {"storageclass.kubernetes.io/is-default-class",
                                 "storageclass.beta.kubernetes.io/is-default-class"}) {
    if (text_at(storage, "metadata", "annotations", annotation) == "true") return true;
  }
  return false;
}

void storage_class_cells(const Json& storage, Time now, JsonArray& cells) {
  std::string name(text_at(storage, "metadata", "name"));
  if (is_default_class(storage)) name += " (default)";
  cells.push_back(text_cell(name));
  cells.push_back(text_cell(text_at(storage, "provisioner")));
  cells.push_back(text_or(text_at(storage, "reclaimPolicy"), "Delete"));
  cells.push_back(text_or(text_at(storage, "volumeBindingMode"), "Immediate"));
  cells.push_back(as_bool(find(storage, "allowVolumeExpansion")));
  cells.push_back(age_cell(storage, now));
}

void csi_node_cells(const Json& node, Time now, JsonArray& cells) {
  cells.push_back(name_cell(node));
  cells.push_back(count_of(find(node, "spec", "drivers")));
  cells.push_back(age_cell(node, now));
}

}  // namespace

std::vector<Printer> storage_printers() {
  const Column volume_mode = text_column("VolumeMode", "Filesystem or Block.", 1);
  return {
      {"", "PersistentVolume",
       name_and_age({text_column("Capacity", "How much it holds."),
                     text_column("Access Modes", "How it may be mounted."),
                     text_column("Reclaim Policy", "What happens to it when it is released."),
                     text_column("Status", "Whether it is available, bound or released."),
                     text_column("Claim", "The claim that it is bound to."),
                     text_column("StorageClass", "The class that it belongs to."),
                     text_column("VolumeAttributesClass", "The class of its attributes."),
                     text_column("Reason", "Why it is in that state.")},
                    {volume_mode}),
       persistent_volume_cells},
      {"", "PersistentVolumeClaim",
       name_and_age({text_column("Status", "Whether it is bound."),
                     text_column("Volume", "The volume that it is bound to."),
                     text_column("Capacity", "How much that volume holds."),
                     text_column("Access Modes", "How it may be mounted."),
                     text_column("StorageClass", "The class that it asks for."),
                     text_column("VolumeAttributesClass", "The class of its attributes.")},
                    {volume_mode}),
       persistent_volume_claim_cells},
      {"storage.k8s.io", "StorageClass",
       name_and_age({text_column("Provisioner", "Who makes its volumes."),
                     text_column("ReclaimPolicy", "What happens to released volumes."),
                     text_column("VolumeBindingMode", "When volumes are made and bound."),
                     text_column("AllowVolumeExpansion", "Whether volumes may grow.")}),
       storage_class_cells},
      {"storage.k8s.io", "CSINode",
       name_and_age({integer_column("Drivers", "How many storage drivers the node has.")}),
       csi_node_cells},
  };
}

}  // namespace lockstep::apiserver

#include "gpu/gpu_models.h"

#include "data/json.h"
#include "data/yaml.h"
#include "gpu/embedded_text.h"

namespace lockstep::gpu {

namespace {

std::optional<double> number_in(const Json& value, std::string_view key) {
  const Json* found = lockstep::find(value, key);
  if (found == nullptr || !found->is_number()) return std::nullopt;
  return as_number(*found);
}

// A floor is a figure of the vendor's or of a measurement, times the share of it that must be
// reached.
Result<std::optional<double>> floor_in(const Json& entry, std::string_view key,
                                       std::string_view place) {
  const Json* part = lockstep::find(entry, key);
  if (part == nullptr) return std::optional<double>();
  auto figure = number_in(*part, "figure");
  auto share = number_in(*part, "share");
  if (!figure || !share || text_at(*part, "source").empty())
    return fail(ErrorKind::invalid, fmt::format("{} needs a figure, a share and a source", key),
                std::string(place));
  return std::optional<double>(*figure * *share);
}

}  // namespace

Result<GpuModels> GpuModels::read(std::string_view yaml, std::string_view name) {
  LOCKSTEP_TRY(Json document, parse_yaml(yaml, name));
  const Json* list = lockstep::find(document, "models");
  if (list == nullptr || !list->is_array())
    return fail(ErrorKind::invalid, "there is no list models", std::string(name));
  GpuModels models;
  for (const Json& entry : list->as_array()) {
    GpuModel model;
    model.name = text_at(entry, "name");
    if (model.name.empty())
      return fail(ErrorKind::invalid, "a model has no name", std::string(name));
    const std::string place = fmt::format("{}: {}", name, model.name);
    if (auto links = number_in(entry, "nvlinks")) model.nvlinks = static_cast<int>(*links);
    LOCKSTEP_TRY(model.memory_gigabytes, floor_in(entry, "memory", place));
    LOCKSTEP_TRY(model.pcie_gigabytes, floor_in(entry, "pcie", place));
    LOCKSTEP_TRY(model.inference_tflops, floor_in(entry, "inference", place));
    models.models_.push_back(std::move(model));
  }
  return models;
}

Result<GpuModels> GpuModels::embedded() { return read(gpu_models_yaml, "recipes/gpu-models.yaml"); }

const GpuModel* GpuModels::find(std::string_view name) const {
  for (const GpuModel& model : models_) {
    if (model.name == name) return &model;
  }
  return nullptr;
}

}  // namespace lockstep::gpu

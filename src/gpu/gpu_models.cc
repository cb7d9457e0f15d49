#include "gpu/gpu_models.h"

#include "data/strict_reader.h"
#include "gpu/embedded_text.h"

namespace lockstep::gpu {

namespace {

// A floor is a figure of the vendor's or of a measurement, times the share of it that must be
// reached.
void read_floor(StrictReader& model, std::string_view key, std::optional<double>& floor) {
  model.within(key, [&](StrictReader& reader) {
    double figure = 0;
    double share = 0;
    std::string source;
    reader.decimal("figure", figure).decimal("share", share).text("source", source);
    reader.required("figure").required("share").required("source");
    floor = figure * share;
  });
}

}  // namespace

Result<GpuModels> GpuModels::read(std::string_view yaml, std::string_view name) {
  LOCKSTEP_TRY(const YamlFile file, YamlFile::parse(std::string(name), std::string(yaml)));
  GpuModels models;
  Reading reading(file, {.refuse_null = true});
  reading.map(file.json, [&](StrictReader& reader) {
    reader.each("models", [&](StrictReader& entry) {
      GpuModel& model = models.models_.emplace_back();
      entry.text("name", model.name).required("name").number("nvlinks", model.nvlinks);
      read_floor(entry, "memory", model.memory_gigabytes);
      read_floor(entry, "pcie", model.pcie_gigabytes);
      read_floor(entry, "inference", model.inference_tflops);
    });
    reader.required("models");
  });
  LOCKSTEP_CHECK(reading.result());
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

#include "gpu/gpu_models.h"

#include <gtest/gtest.h>

namespace lockstep::gpu::gpu_models_test {
namespace {

TEST(GpuModels, OurListIsReadAndEveryFloorHasItsSource) {
  auto models = GpuModels::embedded();
  ASSERT_TRUE(models.has_value()) << models.error().text();
  const GpuModel* h200 = models->find("NVIDIA H200");
  ASSERT_NE(h200, nullptr);
  EXPECT_EQ(h200->nvlinks, 18);
  EXPECT_DOUBLE_EQ(*h200->memory_gigabytes, 3600);
  EXPECT_GT(models->all().size(), 8U);
}

TEST(GpuModels, AnUnknownModelIsNull) {
  EXPECT_EQ(GpuModels::embedded()->find("NVIDIA Z900"), nullptr);
}

TEST(GpuModels, AFigureWithoutASourceIsRefused) {
  auto models =
      GpuModels::read("models:\n- name: X\n  memory: {figure: 1, share: 0.5}\n", "m.yaml");
  ASSERT_FALSE(models.has_value());
  EXPECT_EQ(models.error().text(), "m.yaml:3:3: models[0].memory.source: is missing");
  EXPECT_FALSE(GpuModels::read("models:\n- {nvlinks: 1}\n", "m.yaml").has_value());
}

}  // namespace
}  // namespace lockstep::gpu::gpu_models_test

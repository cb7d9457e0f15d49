// The input of `judge_gpu` and `judge_node`, for tests: facts as JSON text, our own data.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/judge.h"

namespace lockstep::gpu {

inline Json json(std::string_view text) {
  auto value = parse_json(text);
  EXPECT_TRUE(value.has_value()) << text;
  return value ? *value : Json();
}

// Everything that `judge()` takes, with the facts and the baseline as they are given.
struct Bench {
  explicit Bench(std::string_view facts_text, std::string_view baseline_text = "")
      : facts(json(facts_text)), models(*GpuModels::embedded()), xids(*XidClasses::embedded()) {
    if (!baseline_text.empty()) baseline = json(baseline_text);
  }
  JudgeInput input(std::vector<std::string> checks = {}) const {
    return {facts,         baseline.is_null() ? nullptr : &baseline,
            models,        xids,
            expect_driver, std::move(checks),
            asked_by_name};
  }
  Json facts;
  Json baseline;
  GpuModels models;
  XidClasses xids;
  std::string expect_driver;
  bool asked_by_name = false;
};

}  // namespace lockstep::gpu

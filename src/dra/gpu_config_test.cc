#include "dra/gpu_config.h"

#include <gtest/gtest.h>

namespace lockstep::dra::gpu_config_test {
namespace {

Result<GpuConfig> decode(const std::string& rest) {
  auto json =
      parse_json(R"({"apiVersion":"gpu.lockstep.dev/v1alpha1","kind":"GpuConfig")" + rest + "}");
  EXPECT_TRUE(json) << rest;
  return decode_gpu_config(*json);
}

TEST(GpuConfig, WhatIsRightIsRead) {
  struct Row {
    std::string rest;
    GpuConfig config;
  };
  for (const Row& row :
       {Row{"", {}}, Row{R"(,"sharing":null)", {}},
        Row{R"(,"sharing":{"strategy":"Exclusive"})", {}},
        Row{R"(,"sharing":{"strategy":"TimeSlicing"})", {Sharing::time_slicing, std::nullopt}},
        Row{R"(,"sharing":{"strategy":"TimeSlicing","timeSlicing":{}})",
            {Sharing::time_slicing, TimeSlice::usual}},
        Row{R"(,"sharing":{"strategy":"TimeSlicing","timeSlicing":{"interval":"Long"}})",
            {Sharing::time_slicing, TimeSlice::extended}},
        Row{R"(,"environment":{"NCCL_DEBUG":"2","NCCL_ALGO":""})",
            {Sharing::exclusive, std::nullopt, {{"NCCL_ALGO", ""}, {"NCCL_DEBUG", "2"}}}}}) {
    auto config = decode(row.rest);
    ASSERT_TRUE(config) << row.rest << ": " << config.error().text();
    EXPECT_EQ(*config, row.config) << row.rest;
  }
}

TEST(GpuConfig, WhatIsWrongIsRefusedByItsField) {
  struct Row {
    std::string rest;
    std::string error;
  };
  for (const Row& row : {
           Row{R"(,"sharin":{})", "sharin: unknown field; did you mean sharing?"},
           Row{R"(,"memory":1)",
               "memory: unknown field; there are apiVersion, kind, sharing, environment"},
           Row{R"(,"sharing":[])", "sharing: must be an object"},
           Row{R"(,"sharing":{})", "sharing.strategy: says how, and must be there"},
           Row{R"(,"sharing":{"strategy":"exclusive"})",
               "sharing.strategy: \"exclusive\" is none of Exclusive, "
               "TimeSlicing"},
           Row{R"(,"sharing":{"strategy":1})",
               "sharing.strategy: this is none of Exclusive, TimeSlicing"},
           Row{R"(,"sharing":{"strategy":"Exclusive","timeSlicing":{}})",
               "sharing.timeSlicing: has no meaning with strategy Exclusive"},
           Row{R"(,"sharing":{"strategy":"TimeSlicing","timeSlicing":{"intervall":"Short"}})",
               "sharing.timeSlicing.intervall: unknown field; did you mean "
               "interval?"},
           Row{R"(,"sharing":{"strategy":"TimeSlicing","timeSlicing":{"interval":"short"}})",
               "sharing.timeSlicing.interval: \"short\" is none of Default, "
               "Short, Medium, Long"},
           Row{R"(,"environment":{"1A":"x"})", "environment.1A: is no name of a variable"},
           Row{R"(,"environment":{"A=B":"x"})", "environment.A=B: is no name of a variable"},
           Row{R"(,"environment":{"NCCL_ALGO":1})", "environment.NCCL_ALGO: must be a text"},
           Row{R"(,"environment":{"LD_PRELOAD":"x"})",
               "environment.LD_PRELOAD: is not for a claim to set (docs/DRA.md lists what is)"},
           Row{R"(,"environment":[])", "environment: must be an object"},
       }) {
    auto config = decode(row.rest);
    ASSERT_FALSE(config) << row.rest;
    EXPECT_EQ(config.error().kind, ErrorKind::invalid);
    EXPECT_EQ(config.error().text(), row.error);
  }
}

// Who may write a claim need not be who may run code in the containers that share it.
TEST(GpuConfig, AClaimSetsNoVariableThatCouldLoadCode) {
  for (const char* name :
       {"PATH", "BASH_ENV", "ENV", "LD_PRELOAD", "PYTHONSTARTUP", "PYTHONPATH", "NODE_OPTIONS",
        "CUDA_INJECTION64_PATH", "NCCL_NET_PLUGIN", "NCCL_TUNER_PLUGIN", "NCCL_CONF_FILE",
        "OMPI_MCA_x", "NVIDIA_VISIBLE_DEVICES", "LOCKSTEP_GPU_0", "MINE"}) {
    auto config = decode(fmt::format(R"(,"environment":{{"{}":"x"}})", name));
    ASSERT_FALSE(config) << name;
    EXPECT_NE(config.error().text().find("is not for a claim to set"), std::string::npos) << name;
  }
  for (std::string_view name : variables_of_claims()) {
    EXPECT_TRUE(decode(fmt::format(R"(,"environment":{{"{}":"x"}})", name))) << name;
  }
}

TEST(GpuConfig, ADeviceClassSetsAllButWhatThePluginAndTheRuntimeSet) {
  const auto of_class = [](std::string_view name) {
    return decode_gpu_config(
        *parse_json(fmt::format(R"({{"apiVersion":"gpu.lockstep.dev/v1alpha1","kind":"GpuConfig",
                                     "environment":{{"{}":"x"}}}})",
                                name)),
        ConfigOrigin::device_class);
  };
  EXPECT_TRUE(of_class("MINE"));
  EXPECT_TRUE(of_class("CUDA_CACHE_PATH"));
  EXPECT_FALSE(of_class("NVIDIA_VISIBLE_DEVICES"));
  EXPECT_FALSE(of_class("LD_PRELOAD"));
  EXPECT_FALSE(of_class("LOCKSTEP_GPU_0"));
}

TEST(GpuConfigMistakes, AreAllNamedAtOnce) {
  auto config = decode(R"(,"sharin":{},"sharing":{"strategy":"time","timeSlicing":{"interval":"x",
      "more":1}},"environment":{"1A":"x","NCCL_ALGO":2})");
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().text(),
            "sharin: unknown field; did you mean sharing?; "
            "sharing.strategy: \"time\" is none of Exclusive, TimeSlicing; "
            "sharing.timeSlicing.more: unknown field; there are interval; "
            "sharing.timeSlicing.interval: \"x\" is none of Default, Short, Medium, Long; "
            "environment.1A: is no name of a variable; environment.NCCL_ALGO: must be a text");
}

TEST(GpuConfig, AnotherKindIsRefusedAsThat) {
  for (const char* text :
       {R"({})", R"({"apiVersion":"resource.nvidia.com/v1beta1","kind":"GpuConfig"})",
        R"({"apiVersion":1})"}) {
    auto config = decode_gpu_config(*parse_json(text));
    ASSERT_FALSE(config);
    EXPECT_EQ(config.error().text(), "apiVersion: must be gpu.lockstep.dev/v1alpha1");
  }
  auto config =
      decode_gpu_config(*parse_json(R"({"apiVersion":"gpu.lockstep.dev/v1alpha1","kind":"Mig"})"));
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().text(), "kind: must be GpuConfig");
  EXPECT_FALSE(decode_gpu_config(*parse_json("[]")));
  EXPECT_FALSE(decode_gpu_config(*parse_json("null")));
}

}  // namespace
}  // namespace lockstep::dra::gpu_config_test

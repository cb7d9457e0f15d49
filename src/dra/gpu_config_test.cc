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
           Row{R"(,"sharin":{})", "sharin: unknown field; did you mean \"sharing\"?"},
           Row{R"(,"memory":1)",
               "memory: unknown field; expected one of: apiVersion, kind, sharing, "
               "environment"},
           Row{R"(,"sharing":[])", "sharing: must be a map, not a list"},
           Row{R"(,"sharing":{})", "sharing.strategy: is missing"},
           Row{R"(,"sharing":{"strategy":"exclusive"})",
               "sharing.strategy: unknown value \"exclusive\"; did you mean \"Exclusive\"?"},
           Row{R"(,"sharing":{"strategy":1})",
               "sharing.strategy: must be a string, not a number; put it in quotes"},
           Row{R"(,"sharing":{"strategy":"Exclusive","timeSlicing":{}})",
               "sharing.timeSlicing: has no meaning with strategy Exclusive; remove it"},
           Row{R"(,"sharing":{"strategy":"TimeSlicing","timeSlicing":{"intervall":"Short"}})",
               "sharing.timeSlicing.intervall: unknown field; did you mean "
               "\"interval\"?"},
           Row{R"(,"sharing":{"strategy":"TimeSlicing","timeSlicing":{"interval":"short"}})",
               "sharing.timeSlicing.interval: unknown value \"short\"; did you mean \"Short\"?"},
           Row{R"(,"environment":{"1A":"x"})", "environment.1A: is not the name of a variable"},
           Row{R"(,"environment":{"A=B":"x"})", "environment.A=B: is not the name of a variable"},
           Row{R"(,"environment":{"NCCL_ALGO":1})",
               "environment.NCCL_ALGO: must be a string, not a number; put it in quotes"},
           Row{R"(,"environment":{"LD_PRELOAD":"x"})",
               "environment.LD_PRELOAD: must not be set by a claim; docs/DRA.md lists what may be"},
           Row{R"(,"environment":[])", "environment: must be a map, not a list"},
       }) {
    auto config = decode(row.rest);
    ASSERT_FALSE(config) << row.rest;
    EXPECT_EQ(config.error().kind, ErrorKind::invalid);
    EXPECT_EQ(config.error().text(), row.error);
  }
}

// The author of a claim may lack the right to run code in the containers that share it.
TEST(GpuConfig, AClaimSetsNoVariableThatCouldLoadCode) {
  for (const char* name :
       {"PATH", "BASH_ENV", "ENV", "LD_PRELOAD", "PYTHONSTARTUP", "PYTHONPATH", "NODE_OPTIONS",
        "CUDA_INJECTION64_PATH", "NCCL_NET_PLUGIN", "NCCL_TUNER_PLUGIN", "NCCL_CONF_FILE",
        "OMPI_MCA_x", "NVIDIA_VISIBLE_DEVICES", "LOCKSTEP_GPU_0", "MINE"}) {
    auto config = decode(fmt::format(R"(,"environment":{{"{}":"x"}})", name));
    ASSERT_FALSE(config) << name;
    EXPECT_NE(config.error().text().find("must not be set by a claim"), std::string::npos) << name;
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
            "sharing.strategy: unknown value \"time\"; expected one of: Exclusive, TimeSlicing; "
            "sharing.timeSlicing.interval: unknown value \"x\"; expected one of: Default, Short, "
            "Medium, Long; sharing.timeSlicing.more: unknown field; expected interval; "
            "environment.1A: is not the name of a variable; environment.NCCL_ALGO: must be a "
            "string, not a number; put it in quotes; sharin: unknown field; did you mean "
            "\"sharing\"?");
}

TEST(GpuConfig, AnotherKindIsRefusedAsThat) {
  for (const char* text :
       {R"({})", R"({"apiVersion":"resource.nvidia.com/v1beta1","kind":"GpuConfig"})",
        R"({"apiVersion":1})"}) {
    auto config = decode_gpu_config(*parse_json(text));
    ASSERT_FALSE(config);
    EXPECT_TRUE(config.error().text().starts_with("apiVersion: ")) << config.error().text();
    EXPECT_TRUE(config.error().text().find("gpu.lockstep.dev/v1alpha1") != std::string::npos);
    EXPECT_EQ(config.error().text().find("unknown field"), std::string::npos);
  }
  auto config =
      decode_gpu_config(*parse_json(R"({"apiVersion":"gpu.lockstep.dev/v1alpha1","kind":"Mig"})"));
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().text(), "kind: must be GpuConfig, not \"Mig\"");
  EXPECT_FALSE(decode_gpu_config(*parse_json("[]")));
  EXPECT_FALSE(decode_gpu_config(*parse_json("null")));
}

}  // namespace
}  // namespace lockstep::dra::gpu_config_test

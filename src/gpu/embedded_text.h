// The data of recipes/ that the gate uses, inside the program.
#pragma once

#include <string_view>

namespace lockstep::gpu {

extern const std::string_view gpu_models_yaml;
extern const std::string_view xid_yaml;

}  // namespace lockstep::gpu

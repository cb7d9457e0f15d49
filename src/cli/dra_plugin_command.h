// `lockstep dra-plugin`: hands over to the program beside this one that can speak gRPC.
#pragma once

#include <string_view>

namespace lockstep::cli {

// For the list of commands; its flags are the other program's.
inline constexpr std::string_view dra_plugin_about =
    "The kubelet plugin that gives pods their GPUs and survives driver upgrades";
// Everything after the command's name goes to that program. Returns only when it cannot be started.
int run_dra_plugin(int argc, char** argv);

}  // namespace lockstep::cli

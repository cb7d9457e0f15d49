// `lockstep complete-names KINDS`: what the shells' completion asks while a name is being typed.
// Says what it can within a short time, and nothing about what it cannot.
#pragma once

#include <string_view>

namespace lockstep::cli {

// For the scripts of completion alone, and in no list of commands.
inline constexpr std::string_view complete_names_word = "complete-names";

// KINDS is "nodes", "rollouts" or both with a comma between; then --kubeconfig and --context from
// the line that is completed. Whatever happens, it ends with 0 and no message.
int run_complete_names(int argc, char** argv);

}  // namespace lockstep::cli

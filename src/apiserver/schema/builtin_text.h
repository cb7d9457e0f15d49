// The tables of facts about Kubernetes' built-in types, embedded at build time (cmake/embed.cmake).
#pragma once

#include <string_view>

namespace lockstep::apiserver {

extern const std::string_view builtin_types_text;         // tests/real/typegen makes it
extern const std::string_view builtin_resources_text;     // likewise
extern const std::string_view builtin_descriptions_text;  // ours

}  // namespace lockstep::apiserver

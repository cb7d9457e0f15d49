// Whether Go's regexp would take a pattern: in Go's words when it would not, as the real API server
// says it. What is refused here is also what makes a backtracking matcher slow.
#pragma once

#include <string_view>

#include "base/result.h"

namespace lockstep::apiserver {

// Repeats of more than 1000 (also by nesting), what Perl knows and Go does not (lookaround,
// references to groups, possessive repeats), expressions that nest or expand too far. The compiler
// of Pattern reports all other errors.
Result<void> check_go_syntax(std::string_view pattern);

}  // namespace lockstep::apiserver

// What HTTP's codes mean as kinds of errors, and back.
#pragma once

#include "base/result.h"

namespace lockstep::http {

// Of an answer that is a refusal.
ErrorKind kind_of_code(int code);
// With which a server of ours says that something failed.
int code_of(ErrorKind kind);

}  // namespace lockstep::http

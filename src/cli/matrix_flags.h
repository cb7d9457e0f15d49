// The flags of `lockstep matrix`.
#pragma once

#include "cli/matrix_command.h"

namespace CLI {
class App;
}

namespace lockstep::cli {

struct MatrixFlags {
  MatrixShowFlags show;
  MatrixCheckFlags check;
  MatrixChangeFlags set;
  MatrixChangeFlags promote;
  MatrixChangeFlags revert;
};

// `result` becomes its exit code when it is the one that is asked for.
void add_matrix(CLI::App& app, MatrixFlags& flags, int& result);

}  // namespace lockstep::cli

// The command line as a whole: reads the flags and runs the command that they name.
#pragma once

namespace lockstep::cli {

int run_program(int argc, char** argv);

}  // namespace lockstep::cli

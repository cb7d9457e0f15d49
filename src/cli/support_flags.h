// The flags of the commands for when something is wrong: `lockstep doctor`, `support-bundle`.
#pragma once

#include "cli/doctor_command.h"
#include "cli/support_bundle_command.h"

namespace CLI {
class App;
}

namespace lockstep::cli {

// `result` becomes its exit code when it is the one that is asked for.
void add_doctor(CLI::App& app, DoctorFlags& flags, int& result);
void add_support_bundle(CLI::App& app, SupportBundleFlags& flags, int& result);

}  // namespace lockstep::cli

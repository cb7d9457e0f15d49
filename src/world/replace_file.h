// A file that is replaced in one step: readers see the old content or the new one, never a
// part.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace lockstep {

// Whether it waits until the disk has it. Without that a power failure may lose it, or leave it
// empty; the end of a process does not.
enum class Durability { on_disk, in_memory };

// `name` is what an error says.
Result<void> replace_file(const std::string& target, const std::string& name,
                          std::string_view content, int mode, Durability durability);

}  // namespace lockstep

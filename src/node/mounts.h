// Mounts as /proc/self/mountinfo lists them: which of them are the old driver's root.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace lockstep::node {

// Where each mount is, in the order in which they were made. An error's place is the line.
Result<std::vector<std::string>> parse_mount_targets(std::string_view mountinfo);

// What is mounted at `root` and below it, in the order in which it can be undone: the last first.
// A place that is mounted over twice is there twice.
std::vector<std::string> mounts_under(const std::vector<std::string>& targets,
                                      std::string_view root);

}  // namespace lockstep::node

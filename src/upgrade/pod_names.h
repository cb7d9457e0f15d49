// Pods in a sentence: "ml/train-0, ml/train-1 and 6 more".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fleet/node_view.h"

namespace lockstep::upgrade {

std::string name_pod(const Pod& pod);
std::string name_pods(const std::vector<fleet::PodPtr>& pods, size_t most = 5);
// The same for texts that are already made.
std::string name_some(const std::vector<std::string>& names, size_t most = 5);
// "1 pod", "3 pods".
std::string counted(size_t count, std::string_view noun);

}  // namespace lockstep::upgrade

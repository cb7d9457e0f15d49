#include "bundle/release.h"

#include <fmt/format.h>

namespace lockstep::bundle {

std::string release_folder(size_t position, const Release& release) {
  return fmt::format("{:03}-{}", position + 1, release.name);
}

}  // namespace lockstep::bundle

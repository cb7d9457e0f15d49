// The catalogue that comes with the program: the files of recipes/.
#pragma once

#include <string_view>
#include <vector>

#include "bundle/catalogue.h"

namespace lockstep::recipes {

struct EmbeddedFile {
  std::string_view path;
  std::string_view text;
  std::string_view json;  // empty where the file is a template
};

// By path.
const std::vector<EmbeddedFile>& embedded_files();

enum class Part {
  all,
  rules,  // what any catalogue needs: the words of criteria, derived values, hooks, releases
};

bundle::Layer embedded_layer(Part part);

}  // namespace lockstep::recipes

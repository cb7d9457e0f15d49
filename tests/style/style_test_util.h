// What the tests of texts share: files of the tree, the list of phrases, and findings as failures.
#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "prose.h"

namespace lockstep::style {

inline const std::filesystem::path root = LOCKSTEP_SOURCE_DIR;

inline std::string read(const std::filesystem::path& path) {
  std::ifstream stream(path);
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

inline std::vector<Phrase> phrases() { return read_phrases(read(root / "docs/words.txt")); }

inline void expect_none(const std::vector<Finding>& findings) {
  for (const Finding& finding : findings) {
    ADD_FAILURE() << finding.path << ":" << finding.line << ": " << finding.what;
  }
}

}  // namespace lockstep::style

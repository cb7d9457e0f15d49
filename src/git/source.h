// Where commits come from and go to. A person names an address, a bare repository, or the directory
// in which they work: then commits go where that directory pushes to, and with its settings and
// hooks, but nothing in it is touched.
#pragma once

#include <string>

#include "base/result.h"
#include "git/program.h"

namespace lockstep::git {

struct Source {
  std::string address;    // to clone from and to push to
  std::string work_tree;  // the user's own, where one was named
  Config config;          // of the user's clone, that ours shall have
};

// `repository` as check_repository() takes it.
Result<Source> find_source(Program& program, const std::string& repository);

// What somebody has changed and not committed is not in what we are about to build upon.
Result<void> check_clean(Program& program, const Source& source, const std::string& path);

// Settings that say who commits, how a commit is signed and how the other side is reached. Not:
// which remotes and branches there are, or where the work tree is.
bool is_inherited(const std::string& key);

}  // namespace lockstep::git

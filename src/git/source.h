// Where commits come from and go to. A user names an address, a bare repository, or a working
// directory. For a working directory, commits go where it pushes to, with its settings and hooks,
// but nothing in it is changed.
#pragma once

#include <string>

#include "base/result.h"
#include "git/program.h"

namespace lockstep::git {

struct Source {
  std::string address;    // to clone from and to push to
  std::string work_tree;  // the user's own, where one was named
  Config config;          // of the user's clone, to be copied to ours
};

// `repository` as check_repository() takes it.
Result<Source> find_source(Program& program, const std::string& repository);

// A user's uncommitted changes would be missing in the clone that we are about to change.
Result<void> check_clean(Program& program, const Source& source, const std::string& path);

// Settings for the author of commits, their signatures and the connection to the remote. Not: which
// remotes and branches there are, or where the work tree is.
bool is_inherited(const std::string& key);

}  // namespace lockstep::git

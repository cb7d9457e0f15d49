// What may be passed to the git program: repositories, branches, paths and revisions that a user or
// a file names. Git takes a word that begins with "-" for an option, and "ext::..." for a program
// to run; both are refused before git sees them.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace lockstep::git {

// A path, file://..., ssh://..., http(s)://..., git://..., or user@host:path.
Result<void> check_repository(std::string_view repository);
// A branch's short name, by the rules of git check-ref-format.
Result<void> check_branch(std::string_view branch);
// Of a file inside a repository: relative, without "..", not inside .git.
Result<void> check_path(std::string_view path);
// A commit, as users write it: hexadecimal, at least four digits.
Result<void> check_commit(std::string_view commit);

// Whether it is a directory of this machine; anything with a scheme or a host is not.
bool is_local_path(std::string_view repository);

// The same text without passwords: "https://user:secret@host" becomes "https://***@host".
std::string redact(std::string_view text);

}  // namespace lockstep::git

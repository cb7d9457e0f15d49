// A clone of our own, in a directory that is gone at the end: where commits are made. The user's
// work tree is not touched, and what fails leaves nothing behind.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "git/program.h"
#include "git/source.h"

namespace lockstep::git {

// One that touched a file, the newest first.
struct LoggedCommit {
  std::string id;
  std::vector<std::string> parents;
  std::string author;  // by name
  Time at;             // when it was written, by its author's clock
  std::string message;
};

enum class PushOutcome { pushed, outrun };

class Clone {
 public:
  // A clone of one branch; empty: the current branch of the repository.
  static Result<std::unique_ptr<Clone>> open(Program& program, const Source& source,
                                             const std::string& branch);
  ~Clone();
  Clone(const Clone&) = delete;
  Clone& operator=(const Clone&) = delete;

  const std::string& branch() const { return branch_; }
  const std::string& directory() const { return work_; }

  // Full id of a commit of this branch: not_found for one that is not in its history.
  Result<std::string> find_commit(const std::string& commit);
  Result<std::string> head();
  // A file of a commit, byte for byte as git keeps it.
  Result<std::string> read(const std::string& path, const std::string& commit = "HEAD");
  // The paths of all files of a commit, sorted; links and submodules are not among them.
  Result<std::vector<std::string>> list(const std::string& commit = "HEAD");
  Result<std::vector<LoggedCommit>> history(const std::string& path, int most);
  Result<LoggedCommit> describe(const std::string& commit);

  // Puts a file's new content into the next commit. The file exists; its mode stays.
  Result<void> stage(const std::string& path, const std::string& content);
  // Puts the opposite of a commit into the next one. A conflict is an error, and nothing is staged.
  Result<void> stage_revert(const std::string& commit);
  Result<bool> has_staged();
  // A file as the next commit will have it; not_found when that commit removes it.
  Result<std::string> staged(const std::string& path);
  Result<std::string> staged_diff();

  // With hooks and signing as the user has set them up. Gives the commit's id. Fails when a hook
  // made it another commit than the one that was asked for.
  Result<std::string> commit(const std::string& message);
  // Never by force. `outrun`: another user pushed meanwhile.
  Result<PushOutcome> push();
  // To where the other side is now; what was committed here and not pushed is forgotten.
  Result<void> catch_up();

 private:
  Clone(Program& program, std::string root, std::string address);
  Result<std::string> standing_branch();
  Result<void> fetch(const std::string& branch);
  Result<std::string> git(std::vector<std::string> arguments);
  Result<bool> is_quiet(std::vector<std::string> arguments);
  Result<void> check_not_checked_out();
  std::string place() const;

  Program& program_;
  std::string root_;
  std::string work_;
  std::string address_;
  std::string branch_;
};

}  // namespace lockstep::git

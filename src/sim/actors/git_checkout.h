// Real git as the source of a GitOps actor: a clone that follows a branch. It runs git while the
// caller waits, so it belongs to demos and tests in real time; virtual time has MemoryRepository.
#pragma once

#include <memory>
#include <string>

#include "git/clone.h"
#include "git/program.h"
#include "sim/actors/git_repository.h"

namespace lockstep::sim {

class GitCheckout final : public RevisionSource {
 public:
  // `repository` as git::find_source() takes it; an empty branch is the current one.
  GitCheckout(Loop& loop, git::Program& program, std::string repository, std::string branch);

  void latest(std::function<void(Result<GitRevision>)> done) override;
  // The same at once.
  Result<GitRevision> fetch();

 private:
  Loop& loop_;
  git::Program& program_;
  std::string repository_;
  std::string branch_;
  std::unique_ptr<git::Clone> clone_;
  Scope scope_;
};

}  // namespace lockstep::sim

// The version matrix in a real git repository. Each commit is made in a clone of its own, pushed
// (never by force), and made again if another user pushed first. Git is slow, so it runs on a
// thread of its own and answers on the loop.
#pragma once

#include <list>
#include <memory>
#include <string>

#include "controller/matrix_store.h"
#include "git/allowed.h"
#include "git/program.h"
#include "world/event_loop.h"
#include "world/process.h"

namespace lockstep::controller {

struct GitMatrixOptions {
  git::AllowedRepositories allowed;  // that rollouts may name
  git::Environment environment;      // ours: git gets what own_environment() leaves of it
  git::Limits limits;
  // The author of commits, unless GIT_AUTHOR_NAME and similar variables name another.
  std::string name = "Lockstep";
  std::string email = "lockstep@localhost";
  int tries = 10;  // when others push meanwhile
};

class GitMatrix final : public MatrixStore {
 public:
  GitMatrix(EventLoop& loop, GitMatrixOptions options);
  // Ends what runs; its `done` is never called. Must come before the loop is destroyed, on its
  // thread.
  ~GitMatrix() override;
  GitMatrix(const GitMatrix&) = delete;
  GitMatrix& operator=(const GitMatrix&) = delete;

  std::string refusal(const rollout::RolloutSpec& spec) const override;
  std::string obstacle(const rollout::RolloutSpec& spec) const override;
  void commit(MatrixCommit commit, std::function<void(Result<std::string>)> done) override;
  // The same at once, on this thread.
  static Result<std::string> commit_now(Processes& processes, const GitMatrixOptions& options,
                                        const MatrixCommit& commit);

 private:
  struct Worker;

  EventLoop& loop_;
  GitMatrixOptions options_;
  std::list<std::unique_ptr<Worker>> workers_;
  mutable std::string obstacle_;  // git itself is missing
  mutable bool looked_ = false;
  Scope scope_;
};

}  // namespace lockstep::controller

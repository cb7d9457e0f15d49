// The version matrix of a simulated world: the same commits as in real git, on a repository in
// memory.
#pragma once

#include "controller/matrix_store.h"
#include "rollout/matrix_history.h"
#include "sim/actors/git_repository.h"

namespace lockstep::sim {

class MemoryMatrix final : public controller::MatrixStore {
 public:
  MemoryMatrix(Loop& loop, MemoryRepository& repository) : loop_(loop), repository_(repository) {}

  std::string obstacle(const rollout::RolloutSpec& spec) const override;
  // Takes as long as git over a network would.
  void commit(controller::MatrixCommit commit,
              std::function<void(Result<std::string>)> done) override;
  Result<std::string> commit_now(const controller::MatrixCommit& commit);

 private:
  Result<std::string> promote(const controller::MatrixCommit& commit, const std::string& text);
  Result<std::string> take_back(const controller::MatrixCommit& commit, const std::string& text);
  std::vector<rollout::MatrixCommit> log() const;
  Result<rollout::MatrixTexts> texts_of(const std::string& id, const std::string& path) const;

  Loop& loop_;
  MemoryRepository& repository_;
  Scope scope_;
};

}  // namespace lockstep::sim

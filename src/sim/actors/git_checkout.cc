#include "sim/actors/git_checkout.h"

#include <utility>

#include "git/source.h"

namespace lockstep::sim {

GitCheckout::GitCheckout(Loop& loop, git::Program& program, std::string repository,
                         std::string branch)
    : loop_(loop),
      program_(program),
      repository_(std::move(repository)),
      branch_(std::move(branch)) {}

Result<GitRevision> GitCheckout::fetch() {
  if (clone_ == nullptr) {
    LOCKSTEP_TRY(const git::Source source, git::find_source(program_, repository_));
    LOCKSTEP_TRY(clone_, git::Clone::open(program_, source, branch_));
  } else {
    LOCKSTEP_CHECK(clone_->catch_up());
  }
  GitRevision revision;
  LOCKSTEP_TRY(revision.id, clone_->head());
  LOCKSTEP_TRY(const auto paths, clone_->list(revision.id));
  for (const std::string& path : paths) {
    if (!path.ends_with(".yaml")) continue;
    LOCKSTEP_TRY(revision.files[path], clone_->read(path, revision.id));
  }
  return revision;
}

void GitCheckout::latest(std::function<void(Result<GitRevision>)> done) {
  loop_.post(scope_.bind([this, done = std::move(done)] { done(fetch()); }));
}

}  // namespace lockstep::sim

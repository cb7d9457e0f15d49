// A Git repository as a GitOps tool sees it: the newest revision of a branch, and its files. In
// memory for virtual time; git_checkout uses real git.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "world/loop.h"

namespace lockstep::sim {

using GitFiles = std::map<std::string, std::string, std::less<>>;

struct GitRevision {
  std::string id;
  GitFiles files;  // by path
};

class RevisionSource {
 public:
  virtual ~RevisionSource() = default;
  // Answers on the loop, later.
  virtual void latest(std::function<void(Result<GitRevision>)> done) = 0;
};

// A branch whose history only grows.
class MemoryRepository final : public RevisionSource {
 public:
  explicit MemoryRepository(Loop& loop) : loop_(loop) {}

  // New contents of some files; an empty one removes the file. Gives the revision's id.
  std::string commit(const GitFiles& changes, std::string message);
  // As git revert: the files that the revision changed are as they were before it. A conflict, and
  // nothing is done, when one of them was changed since.
  Result<std::string> revert(const std::string& id);

  void latest(std::function<void(Result<GitRevision>)> done) override;
  // While it is set, every fetch fails.
  void set_unreachable(bool unreachable) { unreachable_ = unreachable; }
  bool unreachable() const { return unreachable_; }

  struct Entry {
    GitRevision revision;
    std::string message;
  };
  // The oldest first.
  const std::vector<Entry>& log() const { return log_; }

 private:
  Loop& loop_;
  std::vector<Entry> log_;
  bool unreachable_ = false;
  Scope scope_;
};

}  // namespace lockstep::sim

// The demo's version matrix: a real git repository in a temporary directory, and a GitOps tool that
// applies it to the demo's cluster.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "git/program.h"
#include "sim/actors/git_checkout.h"
#include "sim/actors/git_ops.h"
#include "sim/actors/parts.h"
#include "world/process.h"

namespace lockstep::cli {

// Settings of the account that runs the demo must not sign or refuse its commits. Before any thread
// and any child begins: they inherit it.
void calm_git();

class DemoGit {
 public:
  static Result<std::unique_ptr<DemoGit>> make(sim::Parts parts, const std::string& directory,
                                               const std::string& version);
  ~DemoGit();
  DemoGit(const DemoGit&) = delete;
  DemoGit& operator=(const DemoGit&) = delete;

  const std::string& address() const { return address_; }
  // Sets another driver for the canary, as a user does. Returns the commit.
  Result<std::string> set_driver(const std::string& version);
  // As `git log` and `git show` show it.
  Result<std::string> log();
  Result<std::string> show(const std::string& commit);

 private:
  DemoGit(sim::Parts parts, std::string directory);
  Result<void> make_repository(const std::string& version);

  std::string directory_;
  std::string address_;
  SystemProcesses processes_;
  git::Program program_;
  std::unique_ptr<sim::GitCheckout> checkout_;
  std::unique_ptr<sim::GitOps> tool_;
};

}  // namespace lockstep::cli

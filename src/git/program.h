// The git program, run without a shell: bounded in time, without prompts, and with the user's own
// settings (hooks, signing, credential helpers, identity) as git finds them.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "world/process.h"

namespace lockstep::git {

using Environment = std::map<std::string, std::string>;
// In order, as git's --list shows them: a key may come more than once.
using Config = std::vector<std::pair<std::string, std::string>>;

struct Limits {
  Duration local = minutes(1);    // what only touches this machine
  Duration network = minutes(3);  // clone, fetch, push
  Duration commit = minutes(5);   // hooks run, and a signature may need a finger on a key
};

class Program {
 public:
  // `environment` is all that git gets, but for what keeps it from asking a user.
  Program(Processes& processes, Environment environment, Limits limits = {});

  // Settings that lie over the user's own, for every command from now on. By environment and not by
  // command line: they may be passwords.
  void add_config(const Config& config);
  // The only transports that git may use, separated by colons.
  void set_protocols(std::string protocols) { protocols_ = std::move(protocols); }

  struct Call {
    std::string directory;
    std::vector<std::string> arguments;
    std::string input;
    Duration limit = minutes(1);
  };
  // Whatever its exit code; an error when it could not run or not in time.
  Result<ProcessOutput> run(Call call);
  // Its standard output; a failure of git is an error with what git said.
  Result<std::string> output(Call call);
  Result<std::string> output(const std::string& directory, std::vector<std::string> arguments);

  const Limits& limits() const { return limits_; }
  const Environment& environment() const { return environment_; }

 private:
  Processes& processes_;
  Environment environment_;
  Limits limits_;
  Config config_;
  std::string protocols_ = "file:git:http:https:ssh";  // not "ext": that runs a program
};

// What git gets of `ours` where no user has set it up: how to find programs, proxies
// and certificates. No settings of the account or the machine, no home, and none of our secrets.
Environment own_environment(const Environment& ours);
// What git gets of a user's own environment: all but what is Lockstep's.
Environment users_environment(Environment ours);

// What git's standard error means: which kind, and in one or two lines what to do.
Error explain(std::string_view command, const ProcessOutput& output);

}  // namespace lockstep::git

// Real git repositories for a test, in a directory that is removed at its end, with a home of their
// own: the test does not read or write files of the account that runs it.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "base/patience_test_util.h"
#include "git/clone.h"
#include "git/program.h"
#include "git/source.h"
#include "world/directories.h"
#include "world/directories_test_util.h"
#include "world/process.h"

namespace lockstep::git {

inline const std::string matrix_path = "gpu-version-matrix.yaml";

class Repositories : public lockstep::testing::TemporaryDirectory {
 public:
  Repositories() {
    for (const char* name : {"home", "temporary"}) std::filesystem::create_directory(*this / name);
    write("home/.gitconfig",
          "[user]\n\tname = Ada\n\temail = ada@example.com\n[init]\n\tdefaultBranch = main\n");
  }

  Environment environment() const {
    const char* programs = std::getenv("PATH");
    return {{"PATH", programs == nullptr ? "/usr/bin:/bin" : programs},
            {"HOME", *this / "home"},
            {"XDG_CONFIG_HOME", *this / "home"},
            {"GIT_CONFIG_NOSYSTEM", "1"},
            {"TMPDIR", *this / "temporary"}};
  }

  // In the directory; what fails throws.
  std::string sh(const std::string& script) const {
    ProcessSpec spec;
    spec.command = {"bash", "-ec", script};
    spec.directory = path;
    spec.environment = environment();
    spec.limit = test_patience;
    auto result = SystemProcesses().run(spec);
    if (!result) throw std::runtime_error(result.error().text());
    if (result->exit_code != 0) throw std::runtime_error(script + ": " + result->error);
    return result->output.substr(0, result->output.find_last_not_of('\n') + 1);
  }

  // "remote.git", bare, with one commit of the file; and "work", a clone of it.
  void make_remote(const std::string& content = "driver: 560\n") const {
    write("content", content);
    sh("git init -q --bare remote.git; git clone -q remote.git work 2>/dev/null; cd work;"
       "cp ../content " +
       matrix_path + "; echo readme > README; git add .; git commit -qm first; git push -q");
  }

  // A second user, who changes the file (or another) and pushes.
  void push_by_another(const std::string& content, const std::string& file = matrix_path) const {
    write("another-content", content);
    sh("rm -rf another; git clone -q remote.git another; cp another-content another/" + file +
       "; cd another; git add .; git -c user.name=Bob commit -qm 'by another'; git push -q");
  }

  std::string in_remote(const std::string& branch = "main") const {
    return sh("git -C remote.git cat-file blob " + branch + ":" + matrix_path);
  }

  bool left_nothing() const { return list_directory(*this / "temporary").value().empty(); }
};

// What a test does with a repository, in one go.
struct Session {
  explicit Session(const Repositories& places, Limits limits = {})
      : program(processes, places.environment(), limits) {}

  Result<std::unique_ptr<Clone>> open(const std::string& repository,
                                      const std::string& branch = "") {
    LOCKSTEP_TRY(const Source source, find_source(program, repository));
    return Clone::open(program, source, branch);
  }

  SystemProcesses processes;
  Program program;
};

}  // namespace lockstep::git

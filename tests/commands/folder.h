// A temporary directory in which lockstep is run, for commands that need no cluster: they read and
// write files there, by relative paths, and all of it is gone at the end.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "world/directories.h"
#include "world/directories_test_util.h"
#include "world/process.h"

namespace lockstep::commands {

using Words = std::vector<std::string>;

// Criteria that every part of the catalogue has a say in.
inline const Words flagship = {"--service", "eks",  "--accelerator", "h100",       "--intent",
                               "training",  "--os", "ubuntu",        "--platform", "kubeflow"};
inline const std::vector<std::string> all_deployers = {"helm", "helmfile", "flux", "argocd",
                                                       "argocd-helm"};

// {"bundle"} + flagship + {"-o", "out"}.
Words operator+(Words words, const Words& more);

inline bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

class Folder : public lockstep::testing::TemporaryDirectory {
 public:
  ProcessOutput lockstep(Words words) const;
  // The script's $0 is lockstep.
  ProcessOutput bash(const std::string& script) const;

  std::string read(const std::string& name) const;
  Tree tree(const std::string& name) const;
  bool exists(const std::string& name) const;

  // overlays/NAME.yaml of the data directory "data", for a cluster that our own catalogue has
  // nothing to say about: `--data data --service oke --os cos`.
  void write_overlay(const std::string& name, const std::string& spec) const;
};

inline const Words with_data = {"--data", "data", "--service", "oke", "--os", "cos"};

// One thing that is wrong, and what must be said about it.
struct Mistake {
  Words words;
  int exit_code;
  std::vector<std::string> said;
};

// Runs each in turn: exit code, every text on standard error, nothing on standard output, and no
// "out" written.
void expect_refused(const Folder& folder, const std::vector<Mistake>& mistakes);

}  // namespace lockstep::commands

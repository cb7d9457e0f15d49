// Where a test makes bundles and gives them to real tools: a temporary directory, the tools in
// its PATH, and an API server when one is asked for. What does not work throws: the test fails.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cluster.h"
#include "data/json.h"

namespace lockstep::bundles {

using Path = std::filesystem::path;

// A query of the catalogue, as a user writes it.
struct Query {
  std::string name;
  std::vector<std::string> flags;
};
// One for each kind of cluster that the catalogue distinguishes.
const std::vector<Query>& queries();
// The first of them: the one with the most components.
const Query& flagship();

class Workshop {
 public:
  Workshop();

  // Runs `lockstep bundle`, and returns the folder that it wrote.
  Path bundle(const Query& query, const std::string& deployer,
              const std::vector<std::string>& more = {});
  // The output of a script in which helm, helmfile and kubectl are the real ones.
  std::string sh(const std::string& script);
  ProcessOutput try_sh(const std::string& script);

  // An API server; the second one has the definitions of Flux and Argo CD.
  void serve_empty();
  void serve();
  // Nothing is changed; a field that is unknown or of the wrong type is an error.
  void expect_accepted(const std::vector<Json>& objects, const std::string& what);
  ProcessOutput try_apply(const std::vector<Json>& objects);

  Path directory() const { return cluster_.directory(); }

 private:
  commands::Cluster cluster_;
};

std::string read(const Path& file);
void write(const Path& file, std::string_view text, bool executable = false);
Json yaml(const Path& file);
std::vector<Json> yaml_stream(std::string_view text, const std::string& name);
// The folders "001-…", in their order.
std::vector<Path> numbered_folders(const Path& bundle);
// "001-cert-manager" is "cert-manager".
std::string release_of(const Path& numbered_folder);
// Every folder with a Chart.yaml, the bundle itself among them.
std::vector<Path> charts_in(const Path& bundle);
// By each component of recipe.yaml, those it depends on.
std::map<std::string, std::vector<std::string>> dependencies(const Path& bundle);
// Every component of recipe.yaml comes after what it depends on.
void expect_order(const Path& bundle, const std::vector<std::string>& releases);
std::vector<std::string> texts(const Json* list);
// The objects of a kind, by name.
std::map<std::string, Json> of_kind(const std::vector<Json>& objects, std::string_view kind);

}  // namespace lockstep::bundles

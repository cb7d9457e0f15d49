// What Argo CD does, as an actor: polls a repository, applies the manifests of a new
// revision, and restores what another client changes in the cluster. Versions come from
// the matrix: "${current.driver}" in a manifest is what gpu-version-matrix.yaml of the
// same revision says, as a chart's values would have it; "${canary.driver}" is the
// canary's, or current's where it has none. A revision that cannot be read changes
// nothing.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "data/json.h"
#include "sim/actors/git_repository.h"
#include "sim/actors/parts.h"
#include "sim/actors/view.h"
#include "sim/actors/writer.h"

namespace lockstep::sim {

struct GitOpsOptions {
  Duration poll = minutes(3);  // Argo CD's own default
  bool self_heal = true;
  Duration heal_after = seconds(5);
  std::string matrix = "gpu-version-matrix.yaml";
  std::string manifests = "manifests/";
};

// A manifest's text with the matrix's values in it.
Result<std::string> fill_in(std::string_view manifest, std::string_view matrix_text,
                            std::string_view name);
// Whether the cluster's object has everything that Git says of it.
bool has_all(const Json& live, const Json& wanted);

class GitOps {
 public:
  GitOps(Parts parts, RevisionSource& source, GitOpsOptions options = {});
  GitOps(const GitOps&) = delete;
  GitOps& operator=(const GitOps&) = delete;

  void start();

  // The last one of which everything was applied.
  const std::string& synced_revision() const { return synced_; }
  // Why the newest revision is not there; nothing when it is.
  const std::optional<Error>& trouble() const { return trouble_; }
  // How often a change was reverted.
  int healed() const { return healed_; }

 private:
  struct Wanted {
    ResourceType type;
    ObjectKey key;
    Json object;
  };

  void poll();
  void take(Result<GitRevision> revision);
  Result<std::vector<Wanted>> render(const GitRevision& revision) const;
  void apply_all(const std::string& revision);
  void apply(const Wanted& wanted, std::function<void(const Result<Document>&)> done);
  void look_at(const ResourceType& type, const ObjectCache::Change& change);
  void heal(const ResourceType& type, const ObjectKey& key);

  Parts parts_;
  RevisionSource& source_;
  GitOpsOptions options_;
  Writer writer_;
  View view_;
  std::vector<Wanted> wanted_;
  std::string seen_;
  std::string synced_;
  std::optional<Error> trouble_;
  int healed_ = 0;
  Scope scope_;
};

}  // namespace lockstep::sim

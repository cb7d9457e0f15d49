// A Helm chart, read and rendered by ourselves: what `lockstep install` prints and applies is made
// from the very files that Helm takes, and a test holds both to the same result.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "data/json.h"
#include "deploy/template_syntax.h"

namespace lockstep::deploy {

// By path from the chart's folder: "Chart.yaml", "templates/rbac.yaml".
using ChartFiles = std::map<std::string, std::string, std::less<>>;

struct ReleaseName {
  std::string name = "lockstep";
  std::string ns = "lockstep-system";
};

struct Manifest {
  std::string source;  // "lockstep/templates/rbac.yaml"
  Json object;
};

class Chart {
 public:
  // Everything is read at once, the templates too: an error names file and line.
  static Result<Chart> read(const ChartFiles& files);

  const std::string& name() const { return name_; }
  const std::string& version() const { return version_; }

  // The defaults with what the user says laid over them, the later the stronger: maps key by key,
  // anything else replaces; a null takes a default away. All that the schema minds is in the error.
  Result<Json> values(const std::vector<Json>& layers) const;
  // In the order of application. `values` as values() gave them.
  Result<std::vector<Manifest>> render(const ReleaseName& release, const Json& values) const;

 private:
  Result<void> read_templates(const ChartFiles& files);

  std::string name_;
  std::string version_;
  std::string app_version_;
  Json defaults_;
  Json schema_;
  std::map<std::string, TemplateNodes> templates_;
  std::map<std::string, TemplateNodes> helpers_;
};

// The chart of this program: the files of deploy/chart/lockstep, as they were when it was built.
ChartFiles embedded_chart();

// As `helm template` prints them.
std::string print_manifests(const std::vector<Manifest>& manifests);

}  // namespace lockstep::deploy

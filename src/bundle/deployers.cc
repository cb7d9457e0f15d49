#include "bundle/deployers.h"

#include <string>

#include "base/strings.h"
#include "bundle/deploy_argocd.h"
#include "bundle/deploy_argocd_helm.h"
#include "bundle/deploy_flux.h"
#include "bundle/deploy_helm.h"
#include "bundle/deploy_helmfile.h"

namespace lockstep::bundle {

const std::vector<Deployer>& deployers() {
  static const std::vector<Deployer> all = {
      {"helm", "deploy.sh, which runs helm for one release after the other", deploy_with_helm},
      {"helmfile", "helmfile.yaml", deploy_with_helmfile},
      {"flux", "HelmReleases for Flux", deploy_with_flux, true},
      {"argocd", "Applications for Argo CD, made by one of them", deploy_with_argocd, true},
      {"argocd-helm", "a chart of Applications for Argo CD", deploy_with_argocd_helm, true},
  };
  return all;
}

Result<const Deployer*> deployer_named(std::string_view name) {
  std::vector<std::string> known;
  for (const Deployer& deployer : deployers()) {
    if (deployer.name == name) return &deployer;
    known.emplace_back(deployer.name);
  }
  return failf(ErrorKind::invalid, "there is no deployer '{}'; there are: {}", name,
               join(known, ", "));
}

}  // namespace lockstep::bundle

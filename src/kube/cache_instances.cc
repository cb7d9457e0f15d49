// Every type that has a cache. A new one is a line here; without it the program does not link.
#include "kube/cache_impl.h"
#include "objects/config_map.h"
#include "objects/daemon_set.h"
#include "objects/deployment.h"
#include "objects/event.h"
#include "objects/generic_object.h"
#include "objects/job.h"
#include "objects/node.h"
#include "objects/pod.h"
#include "objects/pod_disruption_budget.h"
#include "objects/resource_claim.h"
#include "objects/resource_slice.h"

// NOLINTBEGIN(bugprone-macro-parentheses): a type.
#define LOCKSTEP_CACHE(type)      \
  template class Cache<type>;     \
  template class CacheFeed<type>; \
  template class CachedResource<type>
// NOLINTEND(bugprone-macro-parentheses)

namespace lockstep::kube {

LOCKSTEP_CACHE(Node);
LOCKSTEP_CACHE(Pod);
LOCKSTEP_CACHE(DaemonSet);
LOCKSTEP_CACHE(Deployment);
LOCKSTEP_CACHE(ControllerRevision);
LOCKSTEP_CACHE(ResourceClaim);
LOCKSTEP_CACHE(ResourceSlice);
LOCKSTEP_CACHE(PodDisruptionBudget);
LOCKSTEP_CACHE(GenericObject);
LOCKSTEP_CACHE(ConfigMap);
LOCKSTEP_CACHE(Event);
LOCKSTEP_CACHE(Job);

}  // namespace lockstep::kube

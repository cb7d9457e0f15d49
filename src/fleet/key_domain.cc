#include "fleet/key_domain.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"

namespace lockstep::fleet {

KeyDomain choose_key_domain(const KeyDomainFacts& facts) {
  KeyDomain chosen;
  chosen.domain = !facts.asked.empty()       ? facts.asked
                  : !facts.published.empty() ? facts.published
                                             : std::string(usual_key_domain);
  if (!facts.published.empty()) {
    if (facts.published == chosen.domain) return chosen;
    chosen.conflict = fmt::format(
        "the controller works with the key domain {}, and this command with {}: the controller "
        "reads none of its labels",
        facts.published, chosen.domain);
    chosen.remedy = "leave out --key-domain and unset LOCKSTEP_KEY_DOMAIN";
    return chosen;
  }
  const auto& labelled = facts.labelled;
  // NVIDIA's controller writes labels beside ours: which of them have a reader, labels do not say.
  if (facts.asked.empty() && labelled.size() > 1) {
    chosen.conflict = fmt::format(
        "nodes have upgrade labels of the key domains {}, and no controller in lockstep-system "
        "says "
        "which is its own",
        join(labelled, " and "));
    chosen.remedy = "add --key-domain with the one that your controller was started with";
    return chosen;
  }
  bool has_own = std::find(labelled.begin(), labelled.end(), chosen.domain) != labelled.end();
  if (labelled.empty() || has_own) return chosen;
  chosen.conflict = fmt::format(
      "nodes have upgrade labels of the key domain {} and none of {}, with which this command "
      "works; no controller in lockstep-system says which is its own",
      labelled.front(), chosen.domain);
  chosen.remedy = fmt::format("add --key-domain {}", labelled.front());
  return chosen;
}

}  // namespace lockstep::fleet

#include "cli/key_domain.h"

#include <cstdio>

#include <fmt/format.h>

#include "cli/output.h"
#include "fleet/key_domain.h"
#include "fleet/keys.h"
#include "kube/sync_api.h"
#include "world/terminal_text.h"

namespace lockstep::cli {

namespace {

constexpr std::string_view usual_namespace = "lockstep-system";
constexpr std::string_view lease_name = "lockstep-controller";

// Who may not read it works by the labels.
bool is_refusal(const Error& error) {
  return error.kind == ErrorKind::forbidden || error.kind == ErrorKind::unauthorized;
}

std::string domain_of(const Json& lease) {
  const Json* annotations = find(lease, "metadata", "annotations");
  return annotations == nullptr ? std::string()
                                : std::string(text_at(*annotations, fleet::key_domain_annotation));
}

// Of the controller in its usual namespace; else of those in others that lead, if they agree.
Result<std::string> published_domain(kube::SyncApi& api) {
  auto usual = api.get(resource::leases, {std::string(usual_namespace), std::string(lease_name)});
  if (usual) return domain_of(**usual);
  if (usual.error().kind != ErrorKind::not_found) {
    if (is_refusal(usual.error())) return std::string();
    return fail(usual.error());
  }
  kube::Request request = kube::list(resource::leases);
  request.with("fieldSelector", fmt::format("metadata.name={}", lease_name));
  auto leases = api.list(std::move(request));
  if (!leases) {
    if (is_refusal(leases.error())) return std::string();
    return fail(leases.error());
  }
  std::string found;
  for (const Document& lease : leases->items) {
    if (text_at(*lease, "spec", "holderIdentity").empty()) continue;
    std::string domain = domain_of(*lease);
    if (!found.empty() && domain != found) return std::string();
    found = domain;
  }
  return found;
}

Result<bool> has_labels_of(kube::SyncApi& api, std::string_view domain) {
  kube::Request request = kube::list(resource::nodes);
  request.with("labelSelector", fleet::Keys(domain).state).with("limit", "1");
  auto page = kube::document_of(api.call(std::move(request)));
  if (!page) {
    if (is_refusal(page.error())) return false;
    return fail(page.error());
  }
  const Json* items = find(**page, "items");
  return items != nullptr && items->is_array() && !items->get_array().empty();
}

Result<fleet::KeyDomain> find_key_domain(ClusterSession& session, const std::string& asked) {
  kube::SyncApi api(*session.api, session.loop);
  fleet::KeyDomainFacts facts;
  facts.asked = asked;
  LOCKSTEP_TRY(facts.published, published_domain(api));
  if (facts.published.empty()) {
    for (std::string_view domain : {fleet::usual_key_domain, fleet::own_key_domain}) {
      LOCKSTEP_TRY(const bool labelled, has_labels_of(api, domain));
      if (labelled) facts.labelled.emplace_back(domain);
    }
  }
  return fleet::choose_key_domain(facts);
}

}  // namespace

Result<std::unique_ptr<ClusterSession>> open_in_key_domain(ClusterFlags& flags, KeyUse use,
                                                           bool is_document) {
  LOCKSTEP_TRY(std::unique_ptr<ClusterSession> session, ClusterSession::open(flags));
  LOCKSTEP_TRY(const fleet::KeyDomain chosen, find_key_domain(*session, flags.key_domain));
  flags.key_domain = chosen.domain;
  if (chosen.conflict.empty()) return session;
  flags.key_conflict = fmt::format("{}. Next: {}", chosen.conflict, chosen.remedy);
  if (use == KeyUse::write) return fail(ErrorKind::invalid, flags.key_conflict, "key domain");
  std::FILE* where = is_document ? stderr : stdout;
  print_text(fmt::format("key domain: {}\n", one_line(flags.key_conflict)), where);
  std::fflush(where);
  return session;
}

}  // namespace lockstep::cli

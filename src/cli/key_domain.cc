#include "cli/key_domain.h"

#include <cstdio>

#include <fmt/format.h>

#include "base/strings.h"
#include "cli/output.h"
#include "fleet/key_domain.h"
#include "fleet/keys.h"
#include "kube/sync_api.h"
#include "world/terminal_text.h"

namespace lockstep::cli {

namespace {

constexpr std::string_view usual_namespace = "lockstep-system";
constexpr std::string_view lease_name = "lockstep-controller";

// An account that may not read it works by the labels.
bool is_refusal(const Error& error) {
  return error.kind == ErrorKind::forbidden || error.kind == ErrorKind::unauthorized;
}

// What the controller publishes on its Lease.
struct Published {
  std::string domain;
  std::vector<std::string> driver_namespaces;
};

std::string_view annotation_of(const Json& lease, std::string_view key) {
  const Json* annotations = find(lease, "metadata", "annotations");
  return annotations == nullptr ? std::string_view() : text_at(*annotations, key);
}

Published published_on(const Json& lease) {
  Published published;
  published.domain = annotation_of(lease, fleet::key_domain_annotation);
  std::string_view namespaces = annotation_of(lease, fleet::driver_namespaces_annotation);
  if (namespaces.empty()) return published;
  for (std::string_view ns : split(namespaces, ',')) {
    published.driver_namespaces.emplace_back(ns);
  }
  return published;
}

// Of the controller in its usual namespace. Any tenant can make a Lease of that name elsewhere:
// nothing is read from one of those.
Result<Published> read_published(kube::SyncApi& api) {
  auto usual = api.get(resource::leases, {std::string(usual_namespace), std::string(lease_name)});
  if (usual) return published_on(**usual);
  const bool is_missing = usual.error().kind == ErrorKind::not_found || is_refusal(usual.error());
  return is_missing ? Result<Published>(Published{}) : fail(usual.error());
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

// Also fills in where the driver is, unless a flag says it.
Result<fleet::KeyDomain> find_key_domain(ClusterSession& session, ClusterFlags& flags) {
  kube::SyncApi api(*session.api, session.loop);
  fleet::KeyDomainFacts facts;
  facts.asked = flags.key_domain;
  LOCKSTEP_TRY(Published published, read_published(api));
  facts.published = std::move(published.domain);
  if (flags.driver_namespaces.empty()) flags.driver_namespaces = published.driver_namespaces;
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
  LOCKSTEP_TRY(const fleet::KeyDomain chosen, find_key_domain(*session, flags));
  flags.key_domain = chosen.domain;
  if (chosen.conflict.empty()) return session;
  flags.key_conflict = fmt::format("{}. Next: {}", chosen.conflict, chosen.remedy);
  if (use == KeyUse::write) return fail(ErrorKind::invalid, flags.key_conflict, "key domain");
  std::FILE* where = is_document ? stderr : stdout;
  print_text(fmt::format("key domain: {}\n", one_line(flags.key_conflict)), where);
  std::fflush(where);
  return session;
}

Result<OpenFleet> open_fleet(ClusterFlags flags, bool is_document) {
  OpenFleet fleet;
  LOCKSTEP_TRY(fleet.session, open_in_key_domain(flags, KeyUse::read, is_document));
  ClusterSession& session = *fleet.session;
  fleet.key_conflict = flags.key_conflict;
  fleet.watch = std::make_unique<view::FleetWatch>(*session.api, session.loop, session.random,
                                                   *session.log, flags.fleet());
  LOCKSTEP_CHECK(wait_for_fleet(session, *fleet.watch));
  return fleet;
}

}  // namespace lockstep::cli

#include "cli/doctor_reading.h"

#include <fmt/format.h>

#include "base/strings.h"
#include "cli/matrix_session.h"
#include "cli/server_clock.h"
#include "deploy/chart.h"
#include "kube/certificate.h"
#include "kube/sync_api.h"
#include "kube/typed.h"
#include "view/fleet_watch.h"
#include "view/lookalikes.h"
#include "view/unknown_plugins.h"

namespace lockstep::cli {

namespace {

using doctor::ClusterView;

const ResourceType endpoint_slices{"discovery.k8s.io", "v1", "EndpointSlice", "endpointslices",
                                   true};
const ResourceType validating_webhooks{"admissionregistration.k8s.io", "v1",
                                       "ValidatingWebhookConfiguration",
                                       "validatingwebhookconfigurations", false};
const ResourceType mutating_webhooks{"admissionregistration.k8s.io", "v1",
                                     "MutatingWebhookConfiguration",
                                     "mutatingwebhookconfigurations", false};
const ResourceType self_reviews{"authorization.k8s.io", "v1", "SelfSubjectAccessReview",
                                "selfsubjectaccessreviews", false};
const ResourceType reviews{"authorization.k8s.io", "v1", "SubjectAccessReview",
                           "subjectaccessreviews", false};

void read_fleet(const view::FleetWatch& watch, ClusterView& view) {
  watch.caches().nodes().for_each(
      [&](const std::shared_ptr<const Node>& node) { view.all_nodes.push_back(node); });
  for (const std::string& name : watch.nodes()) {
    auto node = watch.view(name);
    if (!node) continue;
    node->clients = watch.clients_on(*node);
    node->slice_versions = watch.published_versions(name);
    view.nodes.push_back(std::move(*node));
  }
  watch.caches().claims().for_each(
      [&](const std::shared_ptr<const ResourceClaim>& claim) { view.claims.push_back(claim); });
  watch.caches().pods().for_each(
      [&](const std::shared_ptr<const Pod>& pod) { view.pod_uids.insert(pod->meta.uid.str()); });
  view.conflicting_controller = watch.conflicting_controller();
  auto add_policy = [&](const std::string& pool, const GenericObject& object,
                        std::string_view kind) {
    view.policies.push_back({watch.policy(pool),
                             fmt::format("{}/{}", kind, object.meta.name.view()),
                             upgrade::pruned_fields(*object.document)});
  };
  if (auto object = watch.caches().cluster_policy()) add_policy("", *object, "clusterpolicy");
  watch.caches().nvidia_drivers().for_each(
      [&](const auto& object) { add_policy(object->meta.name.str(), *object, "nvidiadriver"); });
  for (auto& plugin : view::find_unknown_plugins(watch)) {
    view.unknown_plugins.push_back(
        {plugin.dra_driver, std::move(plugin.nodes), std::move(plugin.perhaps)});
  }
  view.driver_namespaces = watch.options().drivers.namespaces;
  for (auto& lookalike : view::find_lookalikes(watch)) {
    view.lookalikes.push_back(
        {std::move(lookalike.kind), std::move(lookalike.key), std::move(lookalike.of)});
  }
}

std::vector<Lease> leases_of(kube::SyncApi& api, kube::Request request, ClusterView& view,
                             const std::string& check) {
  std::vector<Lease> leases;
  auto items = api.list(std::move(request));
  if (!items) {
    view.unread[check] = items.error().text();
    return leases;
  }
  DecodeContext context;
  for (const Document& item : items->items) {
    if (auto lease = decode_object<Lease>(*item, context)) leases.push_back(std::move(*lease));
  }
  return leases;
}

// Whether an administrator has given the account of this namespace what every controller needs. No
// answer: it counts as not installed.
bool has_controllers_rights(kube::SyncApi& api, const DoctorFlags& flags, std::string_view ns) {
  const doctor::Right change_nodes{"patch", "", "nodes"};
  const std::string user = fmt::format("system:serviceaccount:{}:{}", ns, flags.service_account);
  auto answer = api.create(reviews, "", doctor::review_of(change_nodes, user));
  return answer && doctor::verdict_of(**answer).value_or(false);
}

void read_leases(kube::SyncApi& api, const DoctorFlags& flags, ClusterView& view) {
  kube::Request request = kube::list(resource::leases);
  request.with("fieldSelector", "metadata.name=lockstep-controller");
  view.leases = leases_of(api, std::move(request), view, "Controller");
  // More of them are no installations.
  constexpr size_t most = 20;
  size_t asked = 0;
  for (const Lease& lease : view.leases) {
    const std::string_view ns = lease.meta.ns.view();
    if (ns == flags.ns || ++asked > most) continue;
    if (has_controllers_rights(api, flags, ns)) view.installed_in.emplace(ns);
  }
  for (const Lease& lease :
       leases_of(api, kube::list(resource::leases, "kube-node-lease"), view, "ServerTime")) {
    view.heartbeats.emplace_back(lease.meta.name.str(), lease.renewed);
  }
}

void read_certificate(ClusterView& view, const std::string& what, const std::string& pem,
                      const std::string& fix) {
  if (pem.empty()) return;
  if (auto ends = kube::end_of_certificates(pem)) view.certificates.push_back({what, *ends, fix});
}

std::string content_of(const ClusterSession& session, const kube::PemSource& source) {
  if (!source.data.empty() || source.file.empty()) return source.data;
  auto text = session.files.read(source.file);
  return text ? *text : std::string();
}

void read_webhooks(kube::SyncApi& api, ClusterView& view) {
  for (const ResourceType* type : {&validating_webhooks, &mutating_webhooks}) {
    auto items = api.list(kube::list(*type));
    if (!items) {
      view.unread["Webhooks"] = items.error().text();
      return;
    }
    for (const Document& item : items->items) {
      for (auto& webhook : doctor::read_webhooks(*item, type == &mutating_webhooks)) {
        if (auto pem = base64_decode(webhook.ca_bundle)) {
          read_certificate(view, fmt::format("authority of {}", webhook.configuration), *pem,
                           fmt::format("kubectl get {} -o yaml", webhook.configuration));
        }
        view.webhooks.push_back(std::move(webhook));
      }
    }
  }
  auto slices = api.list(kube::list(endpoint_slices));
  if (!slices) {
    view.unread["Webhooks"] = slices.error().text();
    return;
  }
  view.ready_services = doctor::ready_services(slices->items);
}

// What `lockstep install` would grant is what the controller needs: a test holds the one to the
// other (tests/deploy).
Result<std::vector<doctor::Right>> rights_of_our_chart(const std::string& ns) {
  LOCKSTEP_TRY(const deploy::Chart chart, deploy::Chart::read(deploy::embedded_chart()));
  // Rights do not depend on the image, which the chart asks for.
  const Json image = JsonObject{{"image", JsonObject{{"repository", "any"}}}};
  LOCKSTEP_TRY(const Json values, chart.values({image}));
  LOCKSTEP_TRY(const std::vector<deploy::Manifest> manifests,
               chart.render({"lockstep", ns}, values));
  std::vector<Json> objects;
  for (const deploy::Manifest& manifest : manifests) objects.push_back(manifest.object);
  return doctor::rights_in(objects);
}

// The controller's rights, where we may ask about them; else our own.
void read_rights(kube::SyncApi& api, const DoctorFlags& flags, ClusterView& view) {
  std::string user = fmt::format("system:serviceaccount:{}:{}", flags.ns, flags.service_account);
  view.rights_of = user;
  auto needed = rights_of_our_chart(flags.ns);
  if (!needed) {
    view.unread["Rights"] = needed.error().text();
    return;
  }
  for (const doctor::Right& right : *needed) {
    const ResourceType& type = user.empty() ? self_reviews : reviews;
    auto answer = api.create(type, "", doctor::review_of(right, user));
    if (!answer && !user.empty() && answer.error().kind == ErrorKind::forbidden) {
      user.clear();
      view.rights_of = "the current user";
      answer = api.create(self_reviews, "", doctor::review_of(right, user));
    }
    if (!answer) {
      view.unread["Rights"] = answer.error().text();
      return;
    }
    view.rights.emplace_back(right, doctor::verdict_of(**answer));
  }
}

Result<void> read_versions(const DoctorFlags& flags, ClusterView& view) {
  LOCKSTEP_TRY(view.compatibility, compatibility_rules(MatrixFleet{}));
  if (flags.matrix.empty()) return {};
  MatrixPlace place;
  place.file = flags.matrix;
  LOCKSTEP_TRY(const MatrixText text, read_matrix_text(place));
  LOCKSTEP_TRY(view.matrix, rollout::parse_matrix(text.text, text.name));
  return {};
}

}  // namespace

Result<ClusterView> read_cluster(ClusterSession& session, const DoctorFlags& flags) {
  ClusterView view;
  auto patience = parse_duration(flags.stuck_after);
  if (!patience) return fail(patience.error().at("--stuck-after"));
  view.claim_patience = *patience;
  LOCKSTEP_CHECK(read_versions(flags, view));
  view::FleetWatch watch(*session.api, session.loop, session.random, *session.log,
                         flags.cluster.fleet());
  LOCKSTEP_CHECK(wait_for_fleet(session, watch));
  view.keys = fleet::Keys(flags.cluster.fleet().key_domain);
  view.ns = flags.ns;
  read_fleet(watch, view);
  kube::SyncApi api(*session.api, session.loop);
  read_leases(api, flags, view);
  read_webhooks(api, view);
  read_rights(api, flags, view);
  const kube::Target& target = session.connection.target;
  read_certificate(view, "client certificate of context " + target.context,
                   content_of(session, target.user.client_certificate),
                   "kubeadm kubeconfig user, or ask the author of the kubeconfig");
  read_certificate(view, "authority of context " + target.context,
                   content_of(session, target.cluster.certificate_authority),
                   "kubeadm certs renew all");
  if (auto ahead = server_ahead(session)) {
    view.server_ahead = *ahead;
  } else {
    view.unread["ServerTime"] = ahead.error().text();
  }
  view.now = session.loop.now();
  return view;
}

}  // namespace lockstep::cli

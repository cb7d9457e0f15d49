#include "doctor/access_checks.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"

namespace lockstep::doctor {

namespace {

// Leases of 15 seconds and timers of minutes bear that much.
constexpr Duration most_skew = seconds(5);
// A kubelet renews its lease every ten seconds; only what lies ahead of us is its clock.
constexpr Duration most_kubelet_skew = seconds(10);
constexpr Duration soon = hours(14 * 24);

Duration magnitude(Duration duration) { return duration < Duration::zero() ? -duration : duration; }

}  // namespace

Check check_rights(const ClusterView& view) {
  const std::string name = "Rights";
  std::vector<std::string> missing;
  size_t unknown = 0;
  for (const auto& [right, allowed] : view.rights) {
    if (!allowed) {
      ++unknown;
    } else if (!*allowed) {
      missing.push_back(right.text());
    }
  }
  if (!missing.empty()) {
    return {name, Verdict::wrong, fmt::format("{} may not: {}", view.rights_of, name_some(missing)),
            missing, fmt::format("lockstep install -n {}", view.ns)};
  }
  if (unknown > 0 || view.rights.empty()) {
    return skipped(name,
                   fmt::format("the cluster does not report the rights of {}", view.rights_of));
  }
  return fine(name, fmt::format("{} has all rights that an upgrade needs ({})", view.rights_of,
                                counted(view.rights.size(), "right")));
}

Check check_clocks(const ClusterView& view) {
  const std::string name = "Clocks";
  std::vector<std::string> ahead;
  // Both are compared by the server's clock, where it is known.
  Time now = view.now + view.server_ahead.value_or(Duration::zero());
  for (const auto& [node, at] : view.heartbeats) {
    if (at - now > most_kubelet_skew) {
      ahead.push_back(fmt::format("{}: {} ahead", node, human_duration(at - now)));
    }
  }
  if (view.server_ahead && magnitude(*view.server_ahead) > most_skew) {
    return {name, Verdict::wrong,
            fmt::format("this machine's clock and the API server's are {} apart ({} is ahead)",
                        human_duration(magnitude(*view.server_ahead)),
                        *view.server_ahead > Duration::zero() ? "the server" : "this machine"),
            ahead, "timedatectl set-ntp true"};
  }
  if (!ahead.empty()) {
    return {name, Verdict::wrong,
            fmt::format("the clocks of {} are ahead: {}", counted(ahead.size(), "node"),
                        name_some(ahead, 3)),
            ahead, "timedatectl set-ntp true   # on these nodes"};
  }
  if (!view.server_ahead) {
    auto why = view.unread.find("ServerTime");
    return skipped(
        name, why == view.unread.end() ? "the API server does not report its time" : why->second);
  }
  return fine(name,
              fmt::format("within {} of the API server, and {} not ahead of it",
                          format_duration(most_skew), counted(view.heartbeats.size(), "node")));
}

Check check_certificates(const ClusterView& view) {
  const std::string name = "Certificates";
  Check check{name, Verdict::fine, ""};
  std::vector<std::string> fixes;
  for (const Certificate& certificate : view.certificates) {
    Duration left = certificate.ends - view.now;
    if (left > soon) continue;
    bool over = left <= Duration::zero();
    if (over) check.verdict = Verdict::wrong;
    if (!over && check.verdict == Verdict::fine) check.verdict = Verdict::warning;
    check.evidence.push_back(fmt::format("{}: {} {}", certificate.what,
                                         over ? "expired" : "expires",
                                         format_rfc3339(certificate.ends)));
    if (!certificate.fix.empty()) fixes.push_back(certificate.fix);
  }
  if (check.verdict == Verdict::fine) {
    if (view.certificates.empty()) return skipped(name, "no certificate can be read");
    return fine(name, fmt::format("{}, none ends within 14 days",
                                  counted(view.certificates.size(), "certificate")));
  }
  check.text =
      fmt::format("{} expired or about to expire: {}",
                  counted(check.evidence.size(), "certificate"), name_some(check.evidence));
  check.fix = join(fixes, "; ");
  return check;
}

Check check_webhooks(const ClusterView& view) {
  const std::string name = "Webhooks";
  Check check{name, Verdict::fine, ""};
  std::vector<std::string> fixes;
  std::vector<std::string> asked;
  for (const Webhook& webhook : view.webhooks) {
    if (webhook.asked_about.empty() || !webhook.fails_closed) continue;
    asked.push_back(webhook.configuration);
    bool by_service = !webhook.service.name.empty();
    bool answers = std::find(view.ready_services.begin(), view.ready_services.end(),
                             webhook.service) != view.ready_services.end();
    if (!by_service || answers) continue;
    check.verdict = Verdict::wrong;
    check.evidence.push_back(fmt::format(
        "{} ({}) blocks {}{}: failurePolicy is Fail, and service {} has no ready endpoint",
        webhook.configuration, webhook.name, join(webhook.asked_about, ", "),
        webhook.is_limited ? " (of what its selectors match)" : "", webhook.service.text()));
    fixes.push_back(fmt::format(
        "kubectl patch {} --type=json -p "
        "'[{{\"op\":\"add\",\"path\":\"/webhooks/{}/failurePolicy\",\"value\":\"Ignore\"}}]'",
        webhook.configuration, webhook.index));
  }
  if (check.verdict == Verdict::wrong) {
    check.text =
        fmt::format("{} without a running server", counted(check.evidence.size(), "webhook"));
    check.fix = join(fixes, "; ");
    return check;
  }
  if (asked.empty()) return fine(name, "no webhook can refuse evictions or changes of nodes");
  return fine(name, fmt::format("{} can refuse evictions or changes of nodes, and answers: {}",
                                counted(asked.size(), "webhook"), name_some(asked, 3)));
}

}  // namespace lockstep::doctor

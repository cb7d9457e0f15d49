#include "cli/rollout_command.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <iostream>
#include <iterator>

#include <fmt/format.h>

#include "base/strings.h"
#include "cli/exit_codes.h"
#include "cli/output.h"
#include "cli/rollout_text.h"
#include "cli/status_command.h"
#include "cli/terminal.h"
#include "data/yaml.h"
#include "fleet/keys.h"
#include "kube/sync_api.h"
#include "operate/action.h"
#include "rollout/command_rules.h"
#include "rollout/rollout_spec.h"

namespace lockstep::cli {

namespace {

constexpr Duration between_looks = seconds(2);

Error explain(Error error) {
  if (error.kind == ErrorKind::not_found) {
    error.message += ": the cluster has no such DriverRollout, or not its definition";
  }
  return error;
}

Result<std::vector<Document>> list_rollouts(kube::SyncApi& api) {
  auto items = api.list(kube::list(fleet::driver_rollouts));
  if (!items && items.error().kind == ErrorKind::not_found) {
    return fail(ErrorKind::not_found,
                "the cluster has no definition of DriverRollout; lockstep install adds it");
  }
  if (!items) return fail(items.error());
  return items->items;
}

// The one that is named, or the only one there is.
Result<Document> named_rollout(kube::SyncApi& api, const std::string& name) {
  if (!name.empty()) {
    auto found = api.get(fleet::driver_rollouts, {"", name});
    if (!found) return fail(explain(found.error()).at("rollout " + name));
    return found;
  }
  LOCKSTEP_TRY(std::vector<Document> all, list_rollouts(api));
  if (all.empty()) return fail(ErrorKind::not_found, "no rollout exists");
  if (all.size() == 1) return all.front();
  std::vector<std::string> names;
  for (const Document& rollout : all) names.emplace_back(text_at(*rollout, "metadata", "name"));
  return fail(ErrorKind::invalid, "several rollouts exist; name one: " + join(names, ", "));
}

Result<std::string> read_input(const ClusterSession& session, const std::string& file) {
  if (file != "-") return session.files.read(file);
  return std::string(std::istreambuf_iterator<char>(std::cin), {});
}

// Where the author may not approve, the author is written down.
Result<void> sign(kube::SyncApi& api, const rollout::RolloutSpec& spec, Json& object) {
  const bool asks_for_author =
      std::any_of(spec.waves.begin(), spec.waves.end(),
                  [](const rollout::WaveSpec& wave) { return wave.approvers.not_author; });
  if (!asks_for_author || !spec.author.empty()) return {};
  LOCKSTEP_TRY(kube::ClusterUser user, identity_in(api));
  JsonObject& metadata = ensure_object(object.as_object(), "metadata");
  ensure_object(metadata, "annotations")[rollout::spec_by_annotation] = user.name;
  return {};
}

Result<Document> create(ClusterSession& session, kube::SyncApi& api, const RolloutFlags& flags) {
  LOCKSTEP_TRY(std::string text, read_input(session, flags.file));
  LOCKSTEP_TRY(Json object, parse_yaml(text, flags.file));
  bool is_rollout = text_at(object, "kind") == fleet::driver_rollouts.kind &&
                    text_at(object, "apiVersion") == fleet::driver_rollouts.api_version();
  if (!is_rollout) {
    return failf(ErrorKind::invalid, "{}: not a DriverRollout of {}", flags.file,
                 fleet::driver_rollouts.api_version());
  }
  // What the controller would not begin is said now, and all of it.
  rollout::RolloutSpec spec = rollout::read_rollout_spec(object);
  if (!spec.problems.empty()) {
    return fail(ErrorKind::invalid, join(spec.problems, "; "), flags.file);
  }
  LOCKSTEP_CHECK(sign(api, spec, object));
  kube::Request request = kube::create(fleet::driver_rollouts, "", std::move(object));
  request.with("fieldManager", "lockstep");
  if (flags.dry_run) request.with("dryRun", "All");
  return kube::document_of(api.call(std::move(request)));
}

struct Steering {
  RolloutVerb verb;
  std::string_view name;
  std::string_view done;  // what is said when it was written
};
constexpr std::array steerings = {
    Steering{RolloutVerb::promote, "promote", "is asked to continue with the next wave"},
    Steering{RolloutVerb::pause, "pause", "is paused: no new node starts, nodes in flight finish"},
    Steering{RolloutVerb::resume, "resume", "goes on"},
    Steering{RolloutVerb::abort, "abort", "is asked to close its waves; nodes do not change"},
    Steering{RolloutVerb::retry, "retry", "is asked to retry what is held"},
    Steering{RolloutVerb::rollback, "rollback", "is asked to roll back to the previous version"},
};

int steer(ClusterSession& session, kube::SyncApi& api, const RolloutFlags& flags) {
  auto found = named_rollout(api, flags.name);
  if (!found) return report(found.error());
  std::string name(text_at(**found, "metadata", "name"));
  auto user = identity_in(api);
  if (!user) return report(user.error());
  const auto* steering = std::find_if(steerings.begin(), steerings.end(),
                                      [&](const Steering& s) { return s.verb == flags.verb; });
  const operate::Action action{std::string(steering->name),
                               operate::ActionTarget::rollout,
                               name,
                               flags.wave,
                               flags.reason,
                               flags.force};
  auto requests =
      operate::requests_of(action, *user, session.loop.now(), fleet::Keys(), {}, **found);
  if (!requests) return report(requests.error());
  kube::Request& request = requests->front();
  if (flags.dry_run) request.with("dryRun", "All");
  auto written = kube::document_of(api.call(std::move(request)));
  if (!written) return report(written.error().at("rollout " + name));
  const bool resumes =
      flags.verb == RolloutVerb::rollback && rollout::read_rollout_spec(**found).paused;
  fmt::print("rollout {} {}{}{}\n", name, steering->done, resumes ? "; its pause has ended" : "",
             flags.dry_run ? " (dry run)" : "");
  return ExitCode::ok;
}

int show_list(kube::SyncApi& api, const RolloutFlags& flags, Time now) {
  auto all = list_rollouts(api);
  if (!all) return report(all.error());
  if (flags.output == "table") {
    print_text(rollout_table(*all, now));
    return ExitCode::ok;
  }
  JsonArray list;
  for (const Document& rollout : *all) list.push_back(*rollout);
  print_document(Json(std::move(list)), flags.output);
  return ExitCode::ok;
}

int show(ClusterSession& session, kube::SyncApi& api, const RolloutFlags& flags) {
  while (true) {
    auto found = named_rollout(api, flags.name);
    if (!found) return report(found.error());
    if (flags.output != "table") {
      print_document(flags.verb == RolloutVerb::history ? rollout_history_json(**found) : **found,
                     flags.output);
    } else if (flags.verb == RolloutVerb::history) {
      print_text(rollout_history(**found));
    } else {
      if (flags.watch && Terminal::of_output().interactive) fmt::print("\x1b[H\x1b[2J");
      print_text(rollout_text(**found, session.loop.now()));
    }
    std::fflush(stdout);
    if (!flags.watch) return ExitCode::ok;
    session.loop.run_until([] { return false; }, between_looks);
  }
}

}  // namespace

int run_rollout(const RolloutFlags& flags) {
  auto session = ClusterSession::open(flags.cluster);
  if (!session) return report(session.error());
  kube::SyncApi api(*(*session)->api, (*session)->loop);
  switch (flags.verb) {
    case RolloutVerb::create: {
      auto made = create(**session, api, flags);
      if (!made) return report(made.error());
      fmt::print("rollout {} created{}\n", text_at(**made, "metadata", "name"),
                 flags.dry_run ? " (dry run)" : "");
      return ExitCode::ok;
    }
    case RolloutVerb::list:
      return show_list(api, flags, (*session)->loop.now());
    case RolloutVerb::status:
    case RolloutVerb::history:
      return show(**session, api, flags);
    default:
      return steer(**session, api, flags);
  }
}

}  // namespace lockstep::cli

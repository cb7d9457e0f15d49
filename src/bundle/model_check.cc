#include "bundle/model_check.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/strings.h"
#include "bundle/names.h"

namespace lockstep::bundle {

namespace {

// Helm adds up to ten characters to it in a label.
constexpr size_t longest_release_name = 53;

// One line of text that may be an argument of a command: any text that a user can type, except text
// that would be taken for a flag.
Result<void> check_line(std::string_view what, std::string_view text) {
  const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  if (std::any_of(text.begin(), text.end(), is_control) || !is_valid_utf8(text)) {
    return failf(ErrorKind::invalid, "the {} has a line break, a control character or broken UTF-8",
                 what);
  }
  if (text.starts_with('-')) {
    return failf(ErrorKind::invalid, "the {} '{}' begins with '-', as only flags do", what, text);
  }
  return {};
}

Result<void> check_lines(const std::vector<std::pair<std::string_view, std::string_view>>& lines) {
  for (const auto& [what, text] : lines) LOCKSTEP_CHECK(check_line(what, text));
  return {};
}

Result<void> check_present(std::string_view what, std::string_view text) {
  if (!text.empty()) return {};
  return failf(ErrorKind::invalid, "the {} is empty: set it in the recipe or in the registry",
               what);
}

Result<void> check_template_name(std::string_view name) {
  LOCKSTEP_CHECK(check_line("name of a manifest", name));
  if (name.empty() || name == "." || name == ".." || name.find('/') != std::string_view::npos) {
    return failf(ErrorKind::invalid,
                 "'{}' is no name of a file: a manifest is named without its "
                 "folder",
                 name);
  }
  return {};
}

Result<void> check_kind(const Release& release) {
  switch (release.kind) {
    case ReleaseKind::upstream:
      LOCKSTEP_CHECK(check_present("repository", release.repository));
      LOCKSTEP_CHECK(check_present("chart", release.chart));
      return check_present("version", release.version);
    case ReleaseKind::local:
      for (const auto& [name, text] : release.templates) LOCKSTEP_CHECK(check_template_name(name));
      return check_present("version of the chart", release.chart_version);
    case ReleaseKind::kustomize:
      return check_present("source", release.source);
  }
  return {};
}

Result<void> check_release(const Release& release) {
  LOCKSTEP_CHECK(check_name(release.name));
  if (release.name.size() > longest_release_name) {
    return failf(ErrorKind::invalid, "the name has {} characters: Helm allows {}",
                 release.name.size(), longest_release_name);
  }
  if (release.name == reserved_name) {
    return fail(ErrorKind::invalid, "the name is that of the bundle itself: choose another");
  }
  // Kustomize's own objects may say where they belong.
  if (release.kind != ReleaseKind::kustomize || !release.ns.empty()) {
    if (auto valid = check_name(release.ns); !valid) return fail(valid.error().at("namespace"));
  }
  LOCKSTEP_CHECK(check_kind(release));
  LOCKSTEP_CHECK(check_lines({{"repository", release.repository},
                              {"chart", release.chart},
                              {"version", release.version},
                              {"version of the chart", release.chart_version},
                              {"source", release.source},
                              {"path", release.path},
                              {"tag", release.tag}}));
  // Helmfile renders these two once more after it has read its file, until nothing changes: no
  // escape survives that.
  for (const std::string* text : {&release.chart, &release.version}) {
    if (text->find("{{") == std::string::npos) continue;
    return failf(ErrorKind::invalid, "\"{}\" has {}, which Helmfile takes for a template", *text,
                 "\"{{\"");
  }
  if (release.timeout_seconds <= 0) {
    return failf(ErrorKind::invalid, "the time limit is {} seconds: it must be above zero",
                 release.timeout_seconds);
  }
  return {};
}

Result<void> check_restart(const GuardedRestart& restart, const std::set<std::string>& names) {
  if (!names.contains(restart.release)) {
    return fail(ErrorKind::not_found, "there is no such release to restart pods after");
  }
  LOCKSTEP_CHECK(check_name(restart.plugin_namespace));
  LOCKSTEP_CHECK(check_name(restart.driver_namespace));
  // An empty selector is every pod of the namespace.
  LOCKSTEP_CHECK(check_present("selector of the pods", restart.plugin_selector));
  LOCKSTEP_CHECK(check_present("selector of the driver", restart.driver_selector));
  LOCKSTEP_CHECK(check_lines({{"selector of the pods", restart.plugin_selector},
                              {"selector of the driver", restart.driver_selector}}));
  if (restart.driver_seconds <= 0 || restart.plugin_seconds <= 0) {
    return fail(ErrorKind::invalid, "a time limit must be above zero");
  }
  return {};
}

}  // namespace

Result<void> check_model(const BundleModel& model) {
  if (model.releases.empty()) {
    return fail(ErrorKind::invalid, "no component is left to deploy: is everything disabled?");
  }
  std::set<std::string> names;
  for (const Release& release : model.releases) {
    const std::string place = fmt::format("release {}", release.name);
    if (auto valid = check_release(release); !valid) return fail(valid.error().at(place));
    for (const std::string& need : release.needs) {
      if (names.contains(need)) continue;
      return fail(ErrorKind::invalid,
                  fmt::format("it needs '{}', which does not come before it", need), place);
    }
    if (!names.insert(release.name).second) {
      return fail(ErrorKind::exists, "two releases have this name", place);
    }
  }
  for (const GuardedRestart& restart : model.restarts) {
    if (auto valid = check_restart(restart, names); !valid) {
      return fail(valid.error().at(fmt::format("restart after release {}", restart.release)));
    }
  }
  return check_lines({{"address of the Git repository", model.git_repository},
                      {"Git revision", model.git_revision},
                      {"path in the Git repository", model.git_path}});
}

}  // namespace lockstep::bundle

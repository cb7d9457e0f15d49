#include "bundle/release_table.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "bundle/hook_waits.h"
#include "bundle/names.h"

namespace lockstep::bundle {

namespace {

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// What a hook of the catalogue adds to the chart after its component.
struct ActiveHook {
  const HookRule* rule;
  JsonObject values;
  std::optional<FittedWaits> waits = {};
};

class Table {
 public:
  Table(const Catalogue& catalogue, const Rules& rules, const ResolvedRecipe& recipe,
        ValuesMap values, int64_t nodes)
      : catalogue_(catalogue),
        rules_(rules),
        recipe_(recipe),
        values_(std::move(values)),
        nodes_(nodes) {}

  Result<ReleaseTable> make() {
    LOCKSTEP_CHECK(find_hooks());
    for (const std::string& name : recipe_.deployment_order) {
      LOCKSTEP_CHECK(add_component(*recipe_.find(name)));
      place_waiting();
    }
    LOCKSTEP_CHECK(check_names());
    return std::move(table_);
  }

 private:
  // A component's own chart never gets a hook's values, whether the hook exists or not.
  Result<void> find_hooks() {
    for (const HookRule& rule : rules_.hooks) {
      auto values = values_.find(rule.component);
      if (values == values_.end()) continue;
      Json own = JsonObject();
      if (const Json* said = find(values->second, rule.values_key)) {
        own = *said;
        erase_key(values->second, rule.values_key);
      }
      bool all = std::all_of(rule.when.begin(), rule.when.end(), [&](const std::string& name) {
        return recipe_.find(name) != nullptr;
      });
      if (!all) continue;
      LOCKSTEP_TRY(YamlFile defaults, catalogue_.yaml(rule.defaults_file));
      Json merged = defaults.json;
      deep_merge(merged, JsonObject{{rule.values_key, own}});
      ActiveHook hook{&rule, std::move(merged.get_object())};
      LOCKSTEP_CHECK(fit(values->second, own, hook));
      warn_of_image(rule, defaults.json, hook);
      hooks_[rule.component].push_back(std::move(hook));
    }
    return {};
  }

  Result<void> fit(const JsonObject& component, const Json& own, ActiveHook& hook) {
    if (!hook.rule->waits) return {};
    Json& values = hook.values[hook.rule->values_key];
    if (!values.is_object()) return {};
    LOCKSTEP_TRY(hook.waits, fit_waits(*hook.rule, component, own, nodes_, values.get_object()));
    if (!hook.waits->warning.empty() && is_on(hook)) {
      table_.warnings.push_back(hook.waits->warning);
    }
    return {};
  }

  static const Json* value_of(const ActiveHook& hook, const ValuePath& path) {
    const Json* own = find(hook.values, hook.rule->values_key);
    if (own == nullptr || !own->is_object() || path.empty()) return nullptr;
    return find_value(own->get_object(), path);
  }
  static bool is_on(const ActiveHook& hook) {
    return as_bool(value_of(hook, hook.rule->switch_value), true);
  }

  void warn_of_image(const HookRule& rule, const Json& defaults, const ActiveHook& hook) {
    const Json* image = value_of(hook, rule.unpublished_image);
    const Json* own = find(defaults, rule.values_key);
    if (image == nullptr || own == nullptr || !is_on(hook)) return;
    const Json* usual = find_value(own->get_object(), rule.unpublished_image);
    if (usual == nullptr || *usual != *image) return;
    table_.warnings.push_back(fmt::format(
        "hook {}: the image {} is not published. Build it, push it to a registry that the nodes "
        "can pull from, and set {}:{}.{}",
        rule.name, as_text(image), rule.component, rule.values_key,
        print_value_path(rule.unpublished_image)));
  }

  Result<void> add_component(const ComponentRef& component) {
    std::vector<std::string> needs;
    for (const std::string& dependency : component.dependencies) {
      const std::vector<std::string>& last = last_releases_[dependency];
      needs.insert(needs.end(), last.begin(), last.end());
    }
    if (!component.pre_manifest_files.empty()) {
      Release release = local(component, component.name + "-pre", needs);
      LOCKSTEP_CHECK(add_templates(component, component.pre_manifest_files, release));
      needs = {release.name};
      place(std::move(release));
    }
    if (!component.patches.empty()) {
      return fail(
          ErrorKind::unsupported,
          fmt::format("{} has patches, which bundles do not carry: put them into the "
                      "kustomization that {} names",
                      component.name, component.source.empty() ? component.path : component.source),
          component.place.text());
    }
    bool has_chart = component.type == ComponentType::kustomize || !component.chart.empty();
    if (has_chart) {
      Release release = main_release(component, needs);
      needs = {release.name};
      place(std::move(release));
    }
    last_releases_[component.name] = needs;
    return add_post(component, has_chart, needs);
  }

  Release start(const ComponentRef& component, std::string name,
                std::vector<std::string> needs) const {
    Release release;
    release.name = std::move(name);
    release.component = component.name;
    const Component* entry = catalogue_.registry.find(component.name);
    release.display_name =
        entry == nullptr || entry->display_name.empty() ? component.name : entry->display_name;
    release.ns = component.ns.empty() ? component.name : component.ns;
    release.needs = std::move(needs);
    std::sort(release.needs.begin(), release.needs.end());
    release.needs.erase(std::unique(release.needs.begin(), release.needs.end()),
                        release.needs.end());
    for (const ReleaseRule& rule : rules_.releases) {
      if (rule.component != component.name) continue;
      release.wait = rule.wait.value_or(release.wait);
      release.wait_for_jobs = rule.wait_for_jobs.value_or(release.wait_for_jobs);
      release.timeout_seconds = rule.timeout_seconds.value_or(release.timeout_seconds);
    }
    return release;
  }

  Release main_release(const ComponentRef& component, std::vector<std::string> needs) const {
    Release release = start(component, component.name, std::move(needs));
    if (component.type == ComponentType::kustomize) {
      release.kind = ReleaseKind::kustomize;
      release.source = component.source;
      release.path = component.path;
      release.tag = component.tag;
      return release;
    }
    release.kind = ReleaseKind::upstream;
    release.repository = component.source;
    release.chart = component.chart;
    release.version = component.version;
    release.values = values_.at(component.name);
    return release;
  }

  // Its templates find the component's values under the component's name.
  Release local(const ComponentRef& component, std::string name,
                std::vector<std::string> needs) const {
    Release release = start(component, std::move(name), std::move(needs));
    release.kind = ReleaseKind::local;
    release.wait = true;
    release.values[component.name] = values_.at(component.name);
    return release;
  }

  Result<void> add_templates(const ComponentRef& component, const std::vector<std::string>& paths,
                             Release& release) const {
    for (const std::string& path : paths) {
      auto file = catalogue_.files.find(path);
      if (file == catalogue_.files.end()) {
        return fail(ErrorKind::not_found,
                    fmt::format("{} names the manifest \"{}\", which is not in the catalogue",
                                component.name, path),
                    component.place.text());
      }
      if (!release.templates.emplace(file_name(path), file->second).second) {
        return fail(ErrorKind::invalid,
                    fmt::format("two manifests of {} are called {}: rename one", component.name,
                                file_name(path)),
                    component.place.text());
      }
    }
    return {};
  }

  Result<void> add_post(const ComponentRef& component, bool has_chart,
                        const std::vector<std::string>& needs) {
    auto hooks = hooks_.find(component.name);
    if (component.manifest_files.empty() && hooks == hooks_.end()) return {};
    // A component of nothing but manifests has no other release to come after.
    Release release = local(component, component.name + (has_chart ? "-post" : ""), needs);
    LOCKSTEP_CHECK(add_templates(component, component.manifest_files, release));
    if (hooks == hooks_.end()) {
      last_releases_[component.name] = {release.name};
      place(std::move(release));
      return {};
    }
    for (const ActiveHook& hook : hooks->second) LOCKSTEP_CHECK(add_hook(hook, release));
    waiting_.push_back(std::move(release));
    return {};
  }

  Result<void> add_hook(const ActiveHook& hook, Release& release) {
    for (const std::string& path : hook.rule->manifest_files) {
      auto file = catalogue_.files.find(path);
      if (file == catalogue_.files.end()) {
        return failf(ErrorKind::not_found, "the hook {} names the file {}, which is not there",
                     hook.rule->name, path);
      }
      release.templates[hook.rule->name + "-" + file_name(path)] = file->second;
    }
    for (const auto& [key, value] : hook.values) release.values[key] = value;
    for (const std::string& name : hook.rule->after) {
      if (recipe_.find(name) != nullptr) release.needs.push_back(name);
    }
    release.timeout_seconds =
        std::max(release.timeout_seconds, hook.rule->timeout_seconds.value_or(0));
    // Deployers wait longer than the Job: then it is Kubernetes that ends it, and says why.
    if (hook.waits) {
      release.timeout_seconds =
          std::max(release.timeout_seconds, hook.waits->deadline_seconds + 60);
    }
    if (hook.rule->restart) add_restart(hook, release.name);
    return {};
  }

  void add_restart(const ActiveHook& hook, const std::string& release) {
    const HookRule& rule = *hook.rule;
    GuardedRestart restart;
    restart.release = release;
    restart.plugin_namespace = namespace_of(rule.restart->plugin_component);
    restart.plugin_selector = rule.restart->plugin_selector;
    restart.driver_namespace = namespace_of(rule.restart->driver_component);
    restart.driver_selector = rule.restart->driver_selector;
    restart.driver_seconds = rule.restart->driver_seconds.value_or(restart.driver_seconds);
    restart.plugin_seconds = rule.restart->plugin_seconds.value_or(restart.plugin_seconds);
    if (hook.waits) {
      restart.driver_seconds = hook.waits->driver_seconds;
      restart.plugin_seconds = hook.waits->plugin_seconds;
    }
    table_.restarts.push_back(std::move(restart));
  }

  std::string namespace_of(const std::string& name) const {
    const ComponentRef* component = recipe_.find(name);
    return component == nullptr || component->ns.empty() ? name : component->ns;
  }

  void place(Release release) {
    placed_.insert(release.name);
    table_.releases.push_back(std::move(release));
  }

  // Charts with hooks, as soon as everything that their hooks come after is there.
  void place_waiting() {
    for (auto at = waiting_.begin(); at != waiting_.end();) {
      bool ready = std::all_of(at->needs.begin(), at->needs.end(),
                               [&](const std::string& name) { return placed_.count(name) > 0; });
      if (!ready) {
        ++at;
        continue;
      }
      std::sort(at->needs.begin(), at->needs.end());
      at->needs.erase(std::unique(at->needs.begin(), at->needs.end()), at->needs.end());
      place(std::move(*at));
      at = waiting_.erase(at);
    }
  }

  Result<void> check_names() const {
    for (const Release& release : waiting_) {
      return failf(ErrorKind::invalid,
                   "the hook's chart {} comes after {}, of which one is missing", release.name,
                   fmt::join(release.needs, ", "));
    }
    std::map<std::string, std::string> owners;
    for (const Release& release : table_.releases) {
      LOCKSTEP_CHECK(check_name(release.name));
      auto [at, first] = owners.emplace(release.name, release.component);
      if (first) continue;
      return failf(ErrorKind::invalid,
                   "the release {} of {} has the name of a release of {}: rename a component",
                   release.name, release.component, at->second);
    }
    return {};
  }

  const Catalogue& catalogue_;
  const Rules& rules_;
  const ResolvedRecipe& recipe_;
  ValuesMap values_;
  int64_t nodes_;
  std::map<std::string, std::vector<ActiveHook>> hooks_;  // by component
  // What has to be there before those that depend on a component. A chart with hooks is not among
  // them: it may come after the very component that depends on this one.
  std::map<std::string, std::vector<std::string>> last_releases_;
  std::vector<Release> waiting_;
  std::set<std::string> placed_;
  ReleaseTable table_;
};

}  // namespace

Result<ReleaseTable> release_table(const Catalogue& catalogue, const Rules& rules,
                                   const ResolvedRecipe& recipe, ValuesMap values, int64_t nodes) {
  return Table(catalogue, rules, recipe, std::move(values), nodes).make();
}

}  // namespace lockstep::bundle

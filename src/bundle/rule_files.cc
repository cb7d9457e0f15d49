#include "bundle/rule_files.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/strings.h"
#include "base/time.h"
#include "bundle/names.h"

namespace lockstep::bundle {

namespace {

Result<void> read_list(const YamlFile& file, const ReaderBody& read_entry) {
  Reading reading(file, {.plain_strings = true});
  reading.any(file.json, [&](StrictReader& list) {
    if (file.json.is_null()) return;
    if (!file.json.is_array()) {
      return list.refuse(
          strict::not_a("a list of maps, each beginning with \"- \"", file.json).message);
    }
    list.as_list([&](StrictReader& entry) { entry.as_map(read_entry); });
  });
  return reading.result();
}

Result<void> check_component(const Registry* registry, const std::string& name) {
  if (registry == nullptr || registry->find(name) != nullptr) return {};
  std::vector<std::string> known;
  for (const auto& [component, unused] : registry->components()) known.push_back(component);
  return fail(ErrorKind::invalid, unknown_word("component", name, known));
}

void read_component(StrictReader& object, const Registry* registry, std::string& into) {
  object.text("component", into).required("component");
  if (!into.empty()) object.check("component", check_component(registry, into));
}

// {component: NAME}
void read_component_map(StrictReader& object, std::string_view key, const Registry* registry,
                        std::string& into) {
  object.within(key, [&](StrictReader& map) { read_component(map, registry, into); });
  object.required(key);
}

void read_components(StrictReader& object, std::string_view key, const Registry* registry,
                     std::vector<std::string>& into) {
  object.texts(key, into);
  for (const std::string& name : into) object.check(key, check_component(registry, name));
}

void read_seconds(StrictReader& object, std::string_view key, std::optional<int64_t>& into) {
  std::string text;
  object.text(key, text);
  if (text.empty()) return;
  auto duration = parse_duration(text);
  if (!duration || *duration < seconds(1) || *duration % seconds(1) != seconds(0)) {
    object.refuse(key,
                  fmt::format("must be a duration of whole seconds such as 90s or 1h30m, not {}",
                              quoted_excerpt(text)));
    return;
  }
  into = std::chrono::duration_cast<std::chrono::seconds>(*duration).count();
}

bool is_whole(const ValuePath& keys) {
  return !keys.empty() &&
         std::none_of(keys.begin(), keys.end(), [](const std::string& key) { return key.empty(); });
}

// Remembers the first user of each name.
class Names {
 public:
  void add(StrictReader& object, std::string_view key, const std::string& name) {
    auto [at, inserted] = places_.emplace(name, object.place(key));
    if (inserted) return;
    object.refuse(
        key, fmt::format("\"{}\" is also at {}; choose another name", name, at->second.text()));
  }

 private:
  std::map<std::string, Place> places_;
};

void read_name(StrictReader& object, Names& names, std::string& into) {
  object.text("name", into).required("name");
  if (into.empty()) return;
  object.check("name", check_name(into));
  names.add(object, "name", into);
}

// `key` of `to`: [[controller, labels, a.b]].
void read_paths(StrictReader& to, std::string_view key, std::vector<ValuePath>& into) {
  to.items(key, [&](StrictReader& path) {
    ValuePath& keys = into.emplace_back();
    path.texts(keys);
    if (!is_whole(keys)) path.refuse("must be a list of keys, such as [controller, labels, a.b]");
  });
  if (to.has(key) && into.empty()) {
    to.refuse(key, "must be a list of paths, such as [[controller, labels, a.b]]");
  }
  to.required(key);
}

void read_from(StrictReader& from, const Registry* registry, DerivedRule& into) {
  read_component(from, registry, into.from_component);
  from.choice("field", into.source,
              {{"namespace", DerivedSource::ns}, {"version", DerivedSource::version}});
  from.texts("value", into.from_value);
  from.texts("notIfFalse", into.not_if_false).texts("onlyIfSet", into.only_if_set);
  if (!from.has("field") && !from.has("value")) {
    from.required("field");
  } else if (from.has("field") && from.has("value")) {
    from.refuse("value", "cannot be set together with field; remove one of the two");
  } else if (!from.has("field")) {
    into.source = DerivedSource::value;
    if (!is_whole(into.from_value)) {
      from.refuse("value", "must be a list of keys, such as [driver, version]");
    }
  }
}

}  // namespace

Result<std::vector<DerivedRule>> read_derived_rules(const YamlFile& file,
                                                    const Registry* registry) {
  std::vector<DerivedRule> rules;
  Names names;
  LOCKSTEP_CHECK(read_list(file, [&](StrictReader& object) {
    DerivedRule& rule = rules.emplace_back();
    rule.place = object.place();
    read_name(object, names, rule.name);
    if (rule.name == "all") {
      object.refuse("name", "must not be all; --no-derived all means every rule");
    }
    object.within("from", [&](StrictReader& from) { read_from(from, registry, rule); });
    object.required("from").flag("optional", rule.optional);
    object.within("to", [&](StrictReader& to) {
      read_component(to, registry, rule.to_component);
      read_paths(to, "paths", rule.to_paths);
    });
    object.required("to");
    read_components(object, "when", registry, rule.when);
  }));
  return rules;
}

Result<std::vector<ReleaseRule>> read_release_rules(const YamlFile& file,
                                                    const Registry* registry) {
  std::vector<ReleaseRule> rules;
  Names names;
  LOCKSTEP_CHECK(read_list(file, [&](StrictReader& object) {
    ReleaseRule& rule = rules.emplace_back();
    rule.place = object.place();
    read_component(object, registry, rule.component);
    names.add(object, "component", rule.component);
    object.flag("wait", rule.wait).flag("waitForJobs", rule.wait_for_jobs);
    read_seconds(object, "timeout", rule.timeout_seconds);
  }));
  return rules;
}

Result<std::vector<HookRule>> read_hook_rules(const YamlFile& file, const Registry* registry) {
  std::vector<HookRule> rules;
  Names names;
  LOCKSTEP_CHECK(read_list(file, [&](StrictReader& object) {
    HookRule& rule = rules.emplace_back();
    rule.place = object.place();
    read_name(object, names, rule.name);
    read_component(object, registry, rule.component);
    read_components(object, "when", registry, rule.when);
    read_components(object, "after", registry, rule.after);
    object.text("values", rule.values_key).text("defaults", rule.defaults_file);
    object.texts("manifests", rule.manifest_files).required("manifests");
    if (object.has("manifests") && rule.manifest_files.empty()) {
      object.refuse("manifests", "must name a file; a hook without any does nothing");
    }
    object.required("values").required("defaults");
    read_seconds(object, "timeout", rule.timeout_seconds);
    object.texts("switch", rule.switch_value).texts("unpublishedImage", rule.unpublished_image);
    object.within("waits", [&](StrictReader& waits) {
      HookWaits& read = rule.waits.emplace();
      waits.each("atATime", [&](StrictReader& limit) {
        TurnLimit& one = read.limits.emplace_back();
        limit.texts("value", one.value).required("value");
        limit.text("default", one.default_text).required("default");
      });
      std::optional<int64_t> turn;
      read_seconds(waits, "eachTurn", turn);
      read.turn_seconds = turn.value_or(0);
      waits.texts("driver", read.driver).texts("plugin", read.plugin);
      waits.texts("deadlineSeconds", read.deadline);
      waits.required("atATime").required("eachTurn").required("driver");
      waits.required("plugin").required("deadlineSeconds");
    });
    object.within("restart", [&](StrictReader& restart) {
      HookRestart& read = rule.restart.emplace();
      read_component_map(restart, "pluginNamespace", registry, read.plugin_component);
      restart.text("pluginSelector", read.plugin_selector).required("pluginSelector");
      read_component_map(restart, "driverNamespace", registry, read.driver_component);
      restart.text("driverSelector", read.driver_selector).required("driverSelector");
      read_seconds(restart, "driverTimeout", read.driver_seconds);
      read_seconds(restart, "pluginTimeout", read.plugin_seconds);
    });
  }));
  return rules;
}

Result<void> check_independence(const std::vector<DerivedRule>& rules) {
  for (const DerivedRule& writer : rules) {
    for (const DerivedRule& other : rules) {
      for (const ValuePath& path : writer.to_paths) {
        bool reads = other.source == DerivedSource::value &&
                     other.from_component == writer.to_component && overlap(other.from_value, path);
        if (reads) {
          return fail(
              ErrorKind::invalid,
              fmt::format("{} follows {}, which {} derives: let it follow what that follows",
                          other.name, print_value_path(path), writer.name),
              other.place.text());
        }
        if (&writer == &other || other.to_component != writer.to_component) continue;
        for (const ValuePath& second : other.to_paths) {
          if (!overlap(path, second)) continue;
          return fail(ErrorKind::invalid,
                      fmt::format("{} and {} both derive {} of {}", writer.name, other.name,
                                  print_value_path(second), other.to_component),
                      other.place.text());
        }
      }
    }
  }
  return {};
}

}  // namespace lockstep::bundle

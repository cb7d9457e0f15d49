#include "bundle/rule_files.h"

#include <algorithm>
#include <functional>
#include <map>

#include <fmt/format.h>

#include "base/time.h"

namespace lockstep::bundle {

namespace {

// Reads one entry; its position in the list is for what StrictObject has no reader for.
using EntryReader = std::function<void(StrictObject&, size_t position)>;

Result<void> read_list(const YamlFile& file, const EntryReader& read) {
  if (file.json.is_null()) return {};
  if (!file.json.is_array()) {
    return fail(ErrorKind::invalid, "must be a list of maps, each beginning with \"- \"",
                file.name());
  }
  const JsonArray& entries = file.json.get_array();
  for (size_t i = 0; i < entries.size(); ++i) {
    StrictObject object(file, entries[i], YamlPath{std::to_string(i)});
    if (entries[i].is_object()) read(object, i);
    LOCKSTEP_CHECK(object.done());
  }
  return {};
}

Result<void> check_component(const Registry* registry, const std::string& name) {
  if (registry == nullptr || registry->find(name) != nullptr) return {};
  std::vector<std::string> known;
  for (const auto& [component, unused] : registry->components()) known.push_back(component);
  return failf(ErrorKind::invalid, "\"{}\" is no component: {}", name, suggestion(name, known));
}

void read_component(StrictObject& object, const Registry* registry, std::string& into) {
  object.text("component", into).required("component");
  if (!into.empty()) object.check("component", check_component(registry, into));
}

// {component: NAME}
void read_component_map(StrictObject& object, std::string_view key, const Registry* registry,
                        std::string& into) {
  object.within(key, [&](StrictObject& map) { read_component(map, registry, into); });
  object.required(key);
}

void read_components(StrictObject& object, std::string_view key, const Registry* registry,
                     std::vector<std::string>& into) {
  object.texts(key, into);
  for (const std::string& name : into) object.check(key, check_component(registry, name));
}

void read_seconds(StrictObject& object, std::string_view key, std::optional<int64_t>& into) {
  std::string text;
  object.text(key, text);
  if (text.empty()) return;
  auto duration = parse_duration(text);
  if (!duration || *duration < seconds(1) || *duration % seconds(1) != seconds(0)) {
    object.refuse(key,
                  fmt::format("must be a time of whole seconds, like 90s, 15m or 1h30m, and is "
                              "\"{}\"",
                              text));
    return;
  }
  into = std::chrono::duration_cast<std::chrono::seconds>(*duration).count();
}

void read_flag(StrictObject& object, std::string_view key, std::optional<bool>& into) {
  bool flag = false;
  object.boolean(key, flag);
  if (object.has(key)) into = flag;
}

// Remembers who had the name first.
class Names {
 public:
  void add(StrictObject& object, std::string_view key, const std::string& name) {
    auto [at, inserted] = places_.emplace(name, object.place(key));
    if (inserted) return;
    object.refuse(key, fmt::format("\"{}\" stands twice: also at {}", name, at->second.text()));
  }

 private:
  std::map<std::string, Place> places_;
};

void read_name(StrictObject& object, Names& names, std::string& into) {
  object.text("name", into).required("name");
  if (into.empty()) return;
  object.check("name", check_name(into));
  names.add(object, "name", into);
}

// A key as it is written: "on" is a key, not true.
std::string key_text(const YamlFile& file, const Json& key, const YamlPath& path) {
  if (key.is_string()) return std::string(as_text(&key));
  if (key.is_object() || key.is_array() || key.is_null()) return {};
  return scalar_text(file.text(), path).value_or("");
}

// `path` leads to the map that `to` is.
void read_paths(StrictObject& to, const YamlFile& file, const Json* paths, YamlPath path,
                std::vector<ValuePath>& into) {
  to.unused({"paths"}).required("paths");
  if (paths == nullptr || paths->is_null()) return;
  constexpr auto form = "must be a list of paths, each a list of keys: [[controller, labels, a.b]]";
  if (!paths->is_array() || paths->get_array().empty()) return to.refuse("paths", form);
  for (size_t i = 0; i < paths->get_array().size(); ++i) {
    const Json& keys = paths->get_array()[i];
    if (!keys.is_array() || keys.get_array().empty()) return to.refuse("paths", form);
    ValuePath& read = into.emplace_back();
    for (size_t j = 0; j < keys.get_array().size(); ++j) {
      YamlPath key_path = path;
      key_path.insert(key_path.end(), {"paths", std::to_string(i), std::to_string(j)});
      read.push_back(key_text(file, keys.get_array()[j], key_path));
      if (read.back().empty()) return to.refuse("paths", form);
    }
  }
}

void read_from(StrictObject& from, const Registry* registry, DerivedRule& into) {
  std::string field;
  read_component(from, registry, into.from_component);
  from.text("field", field).texts("value", into.from_value);
  from.texts("notIfFalse", into.not_if_false).texts("onlyIfSet", into.only_if_set);
  if (!from.has("field") && !from.has("value")) {
    from.required("field");
  } else if (from.has("field") && from.has("value")) {
    from.refuse("value", "cannot stand beside field: a rule follows one of the two");
  } else if (!from.has("field")) {
    into.source = DerivedSource::value;
    bool whole = !into.from_value.empty() &&
                 std::none_of(into.from_value.begin(), into.from_value.end(),
                              [](const std::string& key) { return key.empty(); });
    if (!whole) from.refuse("value", "must be a list of keys: [driver, version]");
  } else if (field == "namespace") {
    into.source = DerivedSource::ns;
  } else if (field != "version") {
    from.refuse("field", fmt::format("has no \"{}\": {}", field,
                                     suggestion(field, {"namespace", "version"})));
  }
}

}  // namespace

Result<std::vector<DerivedRule>> read_derived_rules(const YamlFile& file,
                                                    const Registry* registry) {
  std::vector<DerivedRule> rules;
  Names names;
  LOCKSTEP_CHECK(read_list(file, [&](StrictObject& object, size_t position) {
    DerivedRule& rule = rules.emplace_back();
    rule.place = object.place();
    read_name(object, names, rule.name);
    if (rule.name == "all") {
      object.refuse("name", "cannot be all: --no-derived all means every rule");
    }
    object.within("from", [&](StrictObject& from) { read_from(from, registry, rule); });
    object.required("from").boolean("optional", rule.optional);
    object.within("to", [&](StrictObject& to) {
      read_component(to, registry, rule.to_component);
      const Json& entry = file.json.get_array()[position];
      read_paths(to, file, find(entry, "to", "paths"), {std::to_string(position), "to"},
                 rule.to_paths);
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
  LOCKSTEP_CHECK(read_list(file, [&](StrictObject& object, size_t) {
    ReleaseRule& rule = rules.emplace_back();
    rule.place = object.place();
    read_component(object, registry, rule.component);
    names.add(object, "component", rule.component);
    read_flag(object, "wait", rule.wait);
    read_flag(object, "waitForJobs", rule.wait_for_jobs);
    read_seconds(object, "timeout", rule.timeout_seconds);
  }));
  return rules;
}

Result<std::vector<HookRule>> read_hook_rules(const YamlFile& file, const Registry* registry) {
  std::vector<HookRule> rules;
  Names names;
  LOCKSTEP_CHECK(read_list(file, [&](StrictObject& object, size_t) {
    HookRule& rule = rules.emplace_back();
    rule.place = object.place();
    read_name(object, names, rule.name);
    read_component(object, registry, rule.component);
    read_components(object, "when", registry, rule.when);
    read_components(object, "after", registry, rule.after);
    object.text("values", rule.values_key).text("defaults", rule.defaults_file);
    object.texts("manifests", rule.manifest_files).required("manifests");
    if (object.has("manifests") && rule.manifest_files.empty()) {
      object.refuse("manifests", "must name a file: a hook without any does nothing");
    }
    object.required("values").required("defaults");
    read_seconds(object, "timeout", rule.timeout_seconds);
    object.texts("switch", rule.switch_value).texts("unpublishedImage", rule.unpublished_image);
    object.within("waits", [&](StrictObject& waits) {
      HookWaits& read = rule.waits.emplace();
      waits.each("atATime", [&](StrictObject& limit) {
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
    object.within("restart", [&](StrictObject& restart) {
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

// The three lists of a catalogue that say what no chart and no recipe can: which values follow
// another component's version (derived.yaml), how long the deployment of a component may take
// (releases.yaml), and which Jobs run after a component was installed (hooks.yaml).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "bundle/registry.h"
#include "bundle/value_path.h"
#include "data/strict_reader.h"

namespace lockstep::bundle {

enum class DerivedSource { version, ns, value };

// One value that others follow.
struct DerivedRule {
  std::string name;
  std::string from_component;
  DerivedSource source = DerivedSource::version;
  ValuePath from_value;  // with DerivedSource::value
  // Switches in the values of from_component. While the first is false, there is nothing to follow
  // (a driver that is not installed); the second must be set at all.
  ValuePath not_if_false;
  ValuePath only_if_set;
  // A missing source causes no warning.
  bool optional = false;
  std::string to_component;
  std::vector<ValuePath> to_paths;
  std::vector<std::string> when;  // components that must be enabled, besides from and to
  Place place;
};

// What is not said stays as it is for every release.
struct ReleaseRule {
  std::string component;
  std::optional<bool> wait;
  std::optional<bool> wait_for_jobs;
  std::optional<int64_t> timeout_seconds;
  Place place;
};

// Which pods the hook restarts, and whose end of migration it awaits. Namespaces are those of the
// components that are named.
struct HookRestart {
  std::string plugin_component;
  std::string plugin_selector;  // "app=a,part=b"
  std::string driver_component;
  std::string driver_selector;
  std::optional<int64_t> driver_seconds;
  std::optional<int64_t> plugin_seconds;
};

// A value of the hook's component that says how many nodes get their driver at a time: a number, 0
// for all, or "25%". What upstream's chart takes where nothing is set: `default_text`.
struct TurnLimit {
  ValuePath value;
  std::string default_text;
};

// Which of the hook's values are times, and how long a turn of the nodes takes.
struct HookWaits {
  std::vector<TurnLimit> limits;  // the lowest counts
  int64_t turn_seconds = 0;
  ValuePath driver;    // "20m"
  ValuePath plugin;    // "5m"
  ValuePath deadline;  // seconds
};

struct HookRule {
  std::string name;
  std::string component;           // after which the hook is called, and in whose namespace it runs
  std::vector<std::string> when;   // components that must be enabled too
  std::vector<std::string> after;  // components that must be deployed before
  std::string values_key;          // of the hook's own values
  std::string defaults_file;
  std::vector<std::string> manifest_files;
  std::optional<int64_t> timeout_seconds;
  std::optional<HookRestart> restart;
  std::optional<HookWaits> waits;
  ValuePath switch_value;  // of the hook's values: false switches it off; empty: nothing does
  // The hook's image if it is not published: users of the default must be warned.
  ValuePath unpublished_image;
  Place place;
};

// Each file is a list of maps. Every component that is named must be in the registry (null: any
// component, because the rules belong to another registry). Every name is unique.
Result<std::vector<DerivedRule>> read_derived_rules(const YamlFile& file, const Registry* registry);
Result<std::vector<ReleaseRule>> read_release_rules(const YamlFile& file, const Registry* registry);
Result<std::vector<HookRule>> read_hook_rules(const YamlFile& file, const Registry* registry);

// The order of two rules must not matter: no value is derived twice or from what is derived itself.
Result<void> check_independence(const std::vector<DerivedRule>& rules);

}  // namespace lockstep::bundle

// Validation of the built-in kinds: what several of them need. Messages, and the
// places that they name, are those of k8s.io/kubernetes/pkg/apis/*/validation, its slips included.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/kinds/kind.h"
#include "apiserver/schema/resources.h"
#include "data/json.h"
#include "objects/names.h"

namespace lockstep::apiserver {

// What the real server checks of the built-in kinds that matter here (names, labels, containers,
// selectors, immutable fields). `before` is null on create.
Causes validate_builtin(const ResourceInfo& info, const Json& object, const Json* before);

inline constexpr std::string_view immutable_message = "field is immutable";

void check_metadata(const ResourceInfo& info, const Json& object, const Json* before,
                    Causes& causes);
void check_labels(const Json* labels, const std::string& place, Causes& causes);
// Those that are as they were stored before were right then.
void check_labels(const Json* labels, const Json* before, const std::string& place, Causes& causes);

void check_pod(const Json& pod, const Json* before, Causes& causes);
void check_pod_spec(const Json& spec, const std::string& place, Causes& causes);
void check_container_resources(const Json& resources, const std::string& place, Causes& causes);

// Helpers.
const Json& object_at(const Json& parent, std::string_view key);
const JsonArray& array_at(const Json& object, std::string_view key);
void check_not_negative(const Json& object, std::string_view key, const std::string& place,
                        Causes& causes);
void check_int_or_percent(const Json& value, const std::string& place, Causes& causes);
// 3, or the 30 of "30%".
int64_t int_or_percent(const Json* value);
void check_one_of(const Json& value, const std::string& place,
                  const std::vector<std::string>& allowed, Causes& causes);
void check_unchanged(const Json& object, const Json& before, std::string_view parent,
                     std::string_view key, Causes& causes);
void check_port(const Json& value, const std::string& place, Causes& causes);
void take_complaints(const Complaints& complaints, std::string_view value, const std::string& place,
                     Causes& causes);

}  // namespace lockstep::apiserver

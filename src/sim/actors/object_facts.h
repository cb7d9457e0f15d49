// What the objects of the store say, for invariants: read from the documents themselves and not by
// the types that the controller uses.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "data/json.h"
#include "fleet/reason.h"
#include "objects/node.h"

namespace lockstep::sim {

std::string_view label_of(const Json& object, std::string_view key);
// Empty if missing.
std::string_view annotation_of(const Json& object, std::string_view key);
bool has_annotation(const Json& object, std::string_view key);
// What a node says that it failed with; nothing: it says nothing.
std::optional<fleet::Reason> failure_of(const Json& node);
// The controlling owner; null: none.
const Json* controller_of(const Json& object);
bool is_of_daemon_set(const Json& pod);
// A user has said by a label, in whichever key domain, that upgrades leave the node alone.
bool is_skipped_node(const Json& node);
// In the namespace of NVIDIA's operator. Elsewhere the labels mean nothing.
bool is_driver_set(const Json& daemon_set);
bool is_driver_pod(const Json& pod);
bool is_validator_pod(const Json& pod);
bool is_operators(const Json& object);
// Has the labels of the driver, a validator or a DRA plugin, in another namespace than theirs.
bool is_lookalike(const Json& pod);
bool is_mirror_pod(const Json& pod);
bool is_terminating(const Json& object);
bool has_ended(const Json& pod);
bool is_ready_pod(const Json& pod);
// Shows each of its containers' and init containers' statuses, until `visit` says true.
bool any_container_status(const Json& pod, const std::function<bool(const Json&)>& visit);
// One of its containers waits for an image, or for what it needs to be made.
bool waits_for_image(const Json& pod);
bool waits_for_container(const Json& pod);
bool waits_in_vain(const Json& pod);
// A container or init container asks for one, or it has a claim.
bool asks_for_gpu(const Json& pod);
bool has_empty_dir(const Json& pod);
std::string_view config_digest(const Json& pod_spec);
// Of status.conditions.
bool is_true_condition(const Json& object, std::string_view type);
// As the scheduler evaluates them.
bool tolerates(const Json& pod_spec, const Taint& taint);

}  // namespace lockstep::sim

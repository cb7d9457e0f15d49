// The lists of a strategic merge patch: telling items apart and putting them in order.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "data/json.h"

namespace lockstep {

// What distinguishes each item from the others, as text: the item's field `key`, or the whole item
// when `key` is empty. Equal values have equal text.
using Identities = std::vector<std::string>;
Result<Identities> identities_of(const JsonArray& items, std::string_view key);

// Items of one kind only, and no list or null among them, in both lists together. Says whether they
// are objects. The error is Kubernetes'.
enum class ItemKind { none, primitive, object };
Result<ItemKind> kind_of_items(const JsonArray& a, const JsonArray& b);

// `items` in Kubernetes' order: those named by `wanted` in its order, the others in that of `live`,
// and the two interleaved by the order of `live` where it knows both.
JsonArray in_order(JsonArray items, const Identities& identities, const Identities& wanted,
                   const Identities& live);

// An error when `items` has something that `wanted` lacks or has in another order.
Result<void> check_order(const Identities& items, const Identities& wanted);

// Without later copies of the same primitive.
JsonArray without_duplicates(const JsonArray& items);
JsonArray without_items(const JsonArray& items, const JsonArray& unwanted);

}  // namespace lockstep

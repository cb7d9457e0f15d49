// Everything about one node that its panel shows: why it is where it is, what would change that,
// and the evidence.
#pragma once

#include <string_view>
#include <vector>

#include "data/json.h"
#include "fleet/keys.h"
#include "fleet/node_view.h"
#include "objects/event.h"
#include "upgrade/decision.h"

namespace lockstep::dashboard {

Json node_card(const fleet::NodeView& view, const upgrade::Decision& decision,
               const upgrade::PoolView& pool, const fleet::Keys& keys);
// The newest first, and not too many.
Json event_cards(std::vector<Event> events);

}  // namespace lockstep::dashboard

#include "dashboard/matrix_feed.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "dashboard/matrix_card.h"

namespace lockstep::dashboard {

namespace {

constexpr Duration tick_interval = seconds(1);
// A commit follows a rollout's decision by about this much.
constexpr Duration after_a_move = seconds(3);

std::string word_of(const rollout::MatrixPlace& place) {
  return fmt::format("{}\n{}\n{}", place.repository, place.branch, place.path);
}

}  // namespace

MatrixFeed::MatrixFeed(Loop& loop, FleetModel& model, MatrixFeedParts parts,
                       MatrixFeedOptions options)
    : loop_(loop), model_(model), parts_(std::move(parts)), options_(options) {
  loop_.post(scope_.bind([this] { tick(); }));
}

void MatrixFeed::hurry() {
  for (auto& [place, held] : held_) held.due = std::min(held.due, loop_.uptime() + after_a_move);
}

void MatrixFeed::tick() {
  loop_.after(tick_interval, scope_.bind([this] { tick(); }));
  look();
  show();
}

void MatrixFeed::look() {
  if (reading_ || !parts_.is_watched()) return;
  for (const ShownMatrix& matrix : parts_.matrices()) {
    if (!matrix.readable) continue;
    const Place place = word_of(matrix.place);
    if (!held_.contains(place) && held_.size() >= options_.most) continue;
    Held& held = held_[place];
    if (loop_.uptime() < held.due) continue;
    held.due = loop_.uptime() + options_.interval;
    reading_ = true;
    parts_.read(matrix.place,
                scope_.bind([this, place](const Result<rollout::MatrixReport>& report) {
                  reading_ = false;
                  take(place, report);
                  show();
                }));
    return;
  }
}

void MatrixFeed::take(const Place& place, const Result<rollout::MatrixReport>& report) {
  auto at = held_.find(place);
  if (at == held_.end()) return;
  at->second.error = report ? "" : report.error().text();
  if (!report) return;
  at->second.card = matrix_card(*report);
}

void MatrixFeed::show() {
  JsonArray cards;
  std::map<Place, Held> kept;
  for (const ShownMatrix& matrix : parts_.matrices()) {
    const Place place = word_of(matrix.place);
    auto at = held_.find(place);
    JsonObject card;
    if (at != held_.end() && at->second.card.is_object()) {
      card = at->second.card.as_object();
    } else {
      card = {{"repository", matrix.repository},
              {"branch", matrix.place.branch},
              {"path", matrix.place.path}};
    }
    JsonArray rollouts;
    for (const std::string& name : matrix.rollouts) rollouts.emplace_back(name);
    card["rollouts"] = std::move(rollouts);
    card["readable"] = matrix.readable;
    if (at != held_.end()) {
      if (!at->second.error.empty()) card["error"] = at->second.error;
      kept.insert(held_.extract(at));
    }
    cards.push_back(std::move(card));
    if (cards.size() == options_.most) break;
  }
  held_ = std::move(kept);
  model_.set_part("matrices", std::move(cards));
  parts_.changed();
}

}  // namespace lockstep::dashboard

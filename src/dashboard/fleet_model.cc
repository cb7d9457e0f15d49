#include "dashboard/fleet_model.h"

#include <utility>

#include <fmt/format.h>

namespace lockstep::dashboard {

namespace {

// Bits of a row, as web/src/model.ts reads them.
unsigned flags_of(const NodeRow& row) {
  return (row.cordoned ? 1U : 0U) | (row.ready ? 0U : 2U) | (row.skipped ? 4U : 0U) |
         (row.in_sync ? 8U : 0U);
}

std::string quoted(std::string_view text) { return print_json(Json(text)); }

}  // namespace

size_t FleetModel::word(const std::string& text) {
  auto [at, is_new] = word_numbers_.emplace(text, words_.size());
  if (is_new) words_.push_back(text);
  return at->second;
}

void FleetModel::put(NodeRow row, Time now) {
  auto at = rows_.find(row.name);
  if (at != rows_.end() && at->second.row == row) return;
  for (const std::string* text :
       {&row.reason, &row.pool, &row.wave, &row.zone, &row.rack, &row.version, &row.model}) {
    word(*text);
  }
  changed_.insert(row.name);
  if (at == rows_.end()) {
    std::string name = row.name;
    uint32_t number = next_number_++;
    history_.enter(number, row.state, row.is_out() ? row.gpus : 0);
    rows_.emplace(std::move(name), Held{number, std::move(row)});
    return;
  }
  Held& held = at->second;
  history_.leave(held.row.state, held.row.is_out() ? held.row.gpus : 0, now);
  history_.enter(held.number, row.state, row.is_out() ? row.gpus : 0);
  if (held.row.state != row.state) {
    history_.note(now, held.number, held.row.state, row.state);
  }
  held.row = std::move(row);
}

void FleetModel::remove(const std::string& name, Time now) {
  auto at = rows_.find(name);
  if (at == rows_.end()) return;
  const NodeRow& row = at->second.row;
  history_.leave(row.state, row.is_out() ? row.gpus : 0, now);
  gone_.push_back(at->second.number);
  changed_.erase(name);
  rows_.erase(at);
}

void FleetModel::set_part(std::string_view name, Json value) {
  auto at = parts_.find(name);
  if (at != parts_.end() && at->second == value) return;
  changed_parts_.insert(std::string(name));
  parts_.insert_or_assign(std::string(name), std::move(value));
}

const NodeRow* FleetModel::find(const std::string& name) const {
  auto at = rows_.find(name);
  return at == rows_.end() ? nullptr : &at->second.row;
}

std::vector<std::string> FleetModel::names() const {
  std::vector<std::string> names;
  names.reserve(rows_.size());
  for (const auto& [name, held] : rows_) names.push_back(name);
  return names;
}

void FleetModel::print_row(const Held& held, std::string& out) const {
  const NodeRow& row = held.row;
  auto number = [&](const std::string& text) { return word_numbers_.at(text); };
  fmt::format_to(std::back_inserter(out), "[{},{},{},{},{},{},{},{},{},{},{},{},{},{}]",
                 held.number, quoted(row.name), static_cast<int>(row.state), row.since,
                 flags_of(row), number(row.reason), number(row.pool), number(row.wave),
                 number(row.zone), number(row.rack), number(row.version), number(row.model),
                 row.gpus, row.gpu_pods);
}

std::optional<std::string> FleetModel::take_changes(Time now) {
  if (changed_.empty() && gone_.empty() && changed_parts_.empty()) return std::nullopt;
  std::string out = fmt::format("{{\"sequence\":{},\"at\":{}", ++sequence_, unix_milliseconds(now));
  if (words_sent_ < words_.size()) {
    out += ",\"words\":[";
    for (size_t i = words_sent_; i < words_.size(); ++i) {
      out += (i == words_sent_ ? "" : ",") + quoted(words_[i]);
    }
    out += "]";
    words_sent_ = words_.size();
  }
  if (!changed_.empty()) {
    out += ",\"nodes\":[";
    bool first = true;
    for (const std::string& name : std::exchange(changed_, {})) {
      if (!std::exchange(first, false)) out += ",";
      print_row(rows_.at(name), out);
    }
    out += "]";
  }
  if (!gone_.empty()) {
    out += ",\"gone\":[";
    for (size_t i = 0; i < gone_.size(); ++i) {
      out += fmt::format("{}{}", i == 0 ? "" : ",", gone_[i]);
    }
    out += "]";
    gone_.clear();
  }
  for (const std::string& part : std::exchange(changed_parts_, {})) {
    out += fmt::format(",{}:{}", quoted(part), print_json(parts_.at(part)));
  }
  return out + "}";
}

std::string FleetModel::snapshot(Time now) const {
  std::string out =
      fmt::format("{{\"sequence\":{},\"at\":{},\"states\":[", sequence_, unix_milliseconds(now));
  for (size_t i = 0; i < fleet::all_states.size(); ++i) {
    out += (i == 0 ? "" : ",") + quoted(fleet::display_name(fleet::all_states.at(i)));
  }
  out += "],\"words\":[";
  for (size_t i = 0; i < words_.size(); ++i) out += (i == 0 ? "" : ",") + quoted(words_[i]);
  out += "],\"nodes\":[";
  bool first = true;
  for (const auto& [name, held] : rows_) {
    if (!std::exchange(first, false)) out += ",";
    print_row(held, out);
  }
  out += "]";
  for (const auto& [part, value] : parts_) {
    out += fmt::format(",{}:{}", quoted(part), print_json(value));
  }
  return out + "}";
}

std::string FleetModel::history(Time now, bool with_changes) const {
  return history_.text(now, with_changes);
}

void FleetModel::begin_history(Time now) {
  std::vector<Standing> nodes;
  nodes.reserve(rows_.size());
  for (const auto& [name, held] : rows_) {
    nodes.push_back({held.number, held.row.state,
                     held.row.since > 0 ? Time::from_unix(held.row.since) : Time()});
  }
  history_.begin(std::move(nodes), now);
}

void FleetModel::sample(Time now) { history_.sample(now); }

Json FleetModel::states_of(const std::string& name) const {
  auto at = rows_.find(name);
  if (at == rows_.end()) return JsonArray{};
  return history_.states_of(at->second.number);
}

}  // namespace lockstep::dashboard

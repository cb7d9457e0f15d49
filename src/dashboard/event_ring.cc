#include "dashboard/event_ring.h"

#include <fmt/format.h>

#include "base/strings.h"

namespace lockstep::dashboard {

std::string EventRing::id(uint64_t number) const { return fmt::format("{}:{}", epoch_, number); }

std::optional<uint64_t> EventRing::number_of(std::string_view id) const {
  size_t colon = id.rfind(':');
  if (colon == std::string_view::npos || id.substr(0, colon) != epoch_) return std::nullopt;
  return parse_unsigned(id.substr(colon + 1));
}

void EventRing::push(uint64_t number, std::string_view data) {
  // JSON as we print it has no line breaks, which would end the event.
  events_.push_back(
      std::make_shared<const std::string>(fmt::format("id: {}\ndata: {}\n\n", id(number), data)));
  bytes_ += events_.back()->size();
  last_ = number;
  while (events_.size() > limits_.events || (events_.size() > 1 && bytes_ > limits_.bytes)) {
    bytes_ -= events_.front()->size();
    events_.pop_front();
  }
}

bool EventRing::holds_after(uint64_t number) const {
  return number <= last_ && last_ - number <= events_.size();
}

EventRing::Text EventRing::after(uint64_t number) const {
  if (number >= last_ || !holds_after(number)) return nullptr;
  return events_[events_.size() - (last_ - number)];
}

EventRing::Text EventRing::reset() {
  static const Text text = std::make_shared<const std::string>("event: reset\ndata: {}\n\n");
  return text;
}

}  // namespace lockstep::dashboard

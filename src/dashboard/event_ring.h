// The last changes as server-sent events, each with its number, made once for all pages that
// listen. A page that was away continues after the number that it saw last, or must reload when
// that is no longer held.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace lockstep::dashboard {

class EventRing {
 public:
  struct Limits {
    size_t events = 4096;
    size_t bytes = 16 << 20;
  };
  // `epoch` distinguishes this process's numbers from those of an earlier one.
  explicit EventRing(std::string epoch) : EventRing(std::move(epoch), Limits{}) {}
  EventRing(std::string epoch, Limits limits) : epoch_(std::move(epoch)), limits_(limits) {}

  using Text = std::shared_ptr<const std::string>;

  // Numbers have to follow one another. The first may be any.
  void push(uint64_t number, std::string_view data);
  // The event after this number; null if there is no such event yet.
  Text after(uint64_t number) const;
  // It is held whatever came after that number, or nothing did.
  bool holds_after(uint64_t number) const;
  uint64_t last() const { return last_; }
  // How many bytes and events are held, for tests.
  size_t bytes() const { return bytes_; }
  size_t size() const { return events_.size(); }

  // "epoch:number", as an event's id, and back; nothing when it is of another epoch, or no id.
  std::string id(uint64_t number) const;
  std::optional<uint64_t> number_of(std::string_view id) const;
  // What a page is sent that has to take a snapshot again.
  static Text reset();

 private:
  std::string epoch_;
  Limits limits_;
  std::deque<Text> events_;  // the last of them has the number last_
  uint64_t last_ = 0;
  size_t bytes_ = 0;
};

}  // namespace lockstep::dashboard

// Wakes watches when what they watch has changed. Changes come in bursts: watches are served in
// rounds, and a round that took long delays the next, so that requests still get their share of the
// thread.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "http/message.h"
#include "world/loop.h"

namespace lockstep::apiserver {

class WatchRounds {
 public:
  explicit WatchRounds(Loop& loop) : loop_(loop) {}

  // Returns the number under which it is removed.
  uint64_t add(const std::string& storage, const http::Stream& stream);
  void remove(const std::string& storage, uint64_t number);
  void on_change(const std::string& storage);

 private:
  void flush();

  Loop& loop_;
  uint64_t next_number_ = 1;
  std::map<std::string, std::map<uint64_t, const http::Stream*>> streams_;  // by storage
  std::set<std::string> dirty_;
  bool is_scheduled_ = false;
  Duration last_end_{0};
  Duration pause_{0};
  Scope scope_;
};

}  // namespace lockstep::apiserver

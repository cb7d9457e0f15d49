// What the API has shown to the controllers so far. A fault hides a change for some minutes, and
// several in a row for as long as they last: a controller cannot be blamed for what no answer has
// told it. Only while the API gives errors or old answers: a controller that does not ask is not
// excused.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <tuple>

#include "apiserver/store/store.h"
#include "kube/api.h"
#include "world/loop.h"

namespace lockstep::sim {

// How long a change may stay hidden: on a calm day.
inline constexpr Duration calm_blindness = seconds(5);
// With watches that break, go silent or come from an older replica, and lists that fail.
inline constexpr Duration long_blindness = minutes(10);

class Sight {
 public:
  explicit Sight(const Loop& loop) : loop_(loop) {}

  // From now on there are other controllers, and they have seen nothing.
  void begin();

  // A change of the true state.
  void take(const std::string& storage, const apiserver::Change& change);

  // What the controller `life` asks, and what it is answered.
  void see_call(int life, const kube::Request& request);
  void see_reply(int life, const kube::Request& request, const kube::Reply& reply);
  void see_watch(int life, const kube::WatchRequest& request);
  void see_event(int life, const kube::WatchRequest& request, const kube::WatchEvent& event);
  void see_end(int life, const kube::WatchRequest& request, const Error& error);

  // From when on changes were hidden from any of them at the moment `then`; max: none was. All on
  // the loop's uptime.
  Duration hidden_since(Duration then) const;

 private:
  struct Unseen {
    uint64_t version;
    Duration at;
  };
  struct Gap {
    Duration since;
    Duration until;
  };
  // A list and the watches after it.
  struct Stream {
    Duration began{0};
    bool is_synced = false;
    std::string listed_version;  // of a list that has not come to its end
    std::deque<Unseen> unseen;
    Duration last_trouble = Duration::min();
    std::deque<Gap> gaps;  // that are over
  };
  using Key = std::tuple<std::string, std::string, int>;  // storage, namespace, life

  Stream* find(int life, const ResourceType& type, const std::string& ns);
  void show(Stream& stream, const std::string& version);
  void show_all(Stream& stream);
  bool is_behind(const Stream& stream) const;
  bool is_excused(const Stream& stream) const;
  static Duration unseen_since(const Stream& stream);

  const Loop& loop_;
  std::map<Key, Stream> streams_;
};

}  // namespace lockstep::sim

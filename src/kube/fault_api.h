// An Api that goes wrong on purpose, at the boundary where networks and servers do: requests and
// replies get lost, answers are 409, 410, 429 and 500, lists and watches come from a replica that
// lags behind, watches end or go silent, the server is away. A FaultSource decides which fault
// comes when: random from a seed, written down for a test, or made by the simulator from a
// scenario.
//
// It plays the network and the server, so it belongs to the simulation, not to the client: a
// request that is on its way arrives although its sender has been killed.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kube/api.h"
#include "world/loop.h"
#include "world/random.h"

namespace lockstep::kube {

enum class Fault {
  none,
  request_lost,  // it never arrives, no answer comes
  request_late,  // no answer comes, and it arrives after its sender gave up
  reply_lost,    // it was done, no answer comes
  conflict,      // 409, not done
  expired,       // 410, not done
  throttled,     // 429, not done
  server_error,  // 500, not done
  list_cut,      // 410 for a later page of a list: its snapshot is gone
  stale,         // a list, a get or a watch from a replica that lags behind
  away,          // connection refused or reset: the server is away
  watch_dropped,
  watch_expired,
  watch_silent,
};
std::string_view to_string(Fault fault);

struct CallPlan {
  Fault fault = Fault::none;
  Duration request_delay{0};            // before it arrives
  Duration reply_delay{0};              // before the answer arrives
  std::optional<Duration> retry_after;  // of a 429 or 500
  std::optional<Duration> stale;        // of a read: it is answered as of so long ago
  size_t page_size = 0;                 // of a list: the most items on a page; 0: as asked
};

// What becomes of one watch. Several may be set: what comes first counts.
struct WatchPlan {
  Fault begin = Fault::none;             // expired, throttled, server_error or request_lost
  std::optional<Duration> drop_after;    // the connection breaks
  std::optional<Duration> expire_after;  // an ERROR event with 410, then the end
  std::optional<Duration> silent_after;  // nothing comes any more, not even the end
  Duration lag{0};                       // of the replica that serves it
};

class FaultSource {
 public:
  virtual ~FaultSource() = default;
  virtual CallPlan plan_call(const Request& request) = 0;
  virtual WatchPlan plan_watch(const WatchRequest& request) = 0;
  // How late an event of this watch arrives; the order stays.
  virtual Duration event_delay(const WatchRequest& request) = 0;
};

// Nothing goes wrong.
class NoFaults final : public FaultSource {
 public:
  CallPlan plan_call(const Request&) override { return {}; }
  WatchPlan plan_watch(const WatchRequest&) override { return {}; }
  Duration event_delay(const WatchRequest&) override { return Duration::zero(); }
};

// The chance of each, from 0 to 1, where it makes sense: a conflict needs a write, a 410 a list.
struct FaultWeights {
  double request_lost = 0;
  double request_late = 0;
  double reply_lost = 0;
  double conflict = 0;
  double expired = 0;
  double throttled = 0;
  double server_error = 0;

  double watch_refused = 0;
  double watch_dropped = 0;
  double watch_expired = 0;
  double watch_silent = 0;
  // A watch that gets one of the three lives for up to this long.
  Duration watch_life = minutes(1);

  Duration latency{0};                 // of a request and of a reply each, at most
  Duration watch_lag{0};               // at most
  Duration retry_after = seconds(10);  // at most; rounded up to seconds, as the header is
  // Instead of watch_lag, by ResourceType::full_name(): pods may be seen gone long before their
  // node is seen cordoned.
  std::map<std::string, Duration> watch_lag_of{};

  // A list that names a version, or a watch, comes from a replica that lags: the list is older
  // where the version allows that and 504 where it does not, the watch is late.
  double stale_replica = 0;
  // Even a list or get that asks for the newest state gets an old one. Kubernetes promises that
  // this does not happen.
  double stale_reads = 0;
  Duration replica_lag = minutes(1);  // at most

  double list_cut = 0;  // of each page but the first
  size_t page_size = 0;

  Duration watch_lag_for(const ResourceType& type) const;

  // A bit of everything; strength 1 is a very bad day.
  static FaultWeights everything(double strength);
};

class RandomFaults : public FaultSource {
 public:
  RandomFaults(FaultWeights initial, Random& random) : weights(initial), random_(random) {}
  CallPlan plan_call(const Request& request) override;
  WatchPlan plan_watch(const WatchRequest& request) override;
  Duration event_delay(const WatchRequest& request) override;

  // May be changed at any time: calm comes by setting it to {}.
  FaultWeights weights;

 protected:
  Duration up_to(Duration most);
  bool chance(double probability) { return random_.fraction() < probability; }

 private:
  void plan_read(const Request& request, CallPlan& plan);

  Random& random_;
};

// Faults that a test writes down. A rule is used as often as it says, the oldest that matches
// first; what no rule matches is asked of `otherwise`.
class ScriptedFaults final : public FaultSource {
 public:
  explicit ScriptedFaults(FaultSource* otherwise = nullptr) : otherwise_(otherwise) {}

  using CallMatch = std::function<bool(const Request&)>;
  using WatchMatch = std::function<bool(const WatchRequest&)>;
  void on_call(CallMatch match, CallPlan plan, size_t times = 1);
  void on_watch(WatchMatch match, WatchPlan plan, size_t times = 1);
  // Every call of the verb on the type.
  static CallMatch calls(Verb verb, const ResourceType& type);

  CallPlan plan_call(const Request& request) override;
  WatchPlan plan_watch(const WatchRequest& request) override;
  Duration event_delay(const WatchRequest& request) override;
  size_t unused() const { return calls_.size() + watches_.size(); }

 private:
  template <typename Match, typename Plan>
  struct Rule {
    Match match;
    Plan plan;
    size_t times;
  };
  FaultSource* otherwise_;
  std::deque<Rule<CallMatch, CallPlan>> calls_;
  std::deque<Rule<WatchMatch, WatchPlan>> watches_;
};

class FaultApi final : public Api {
 public:
  // The inner Api's resourceVersion of so long ago; empty: not known.
  using History = std::function<std::string(Duration age)>;

  FaultApi(Api& inner, Loop& loop, FaultSource& source);
  ~FaultApi() override;

  void call(Request request, ReplyCallback done) override;
  [[nodiscard]] std::unique_ptr<Watch> watch(WatchRequest request, WatchHandler handler) override;

  // How often each fault happened; a test that found nothing wrong must know that it tried.
  const std::map<Fault, uint64_t>& injected() const { return injected_; }

  // Breaks or silences all open watches now, as a network partition does.
  void drop_watches();
  void silence_watches();

  // The server goes away: open watches break, requests in progress are not answered, and everything
  // else is refused until it is back.
  void begin_outage();
  void end_outage() { away_ = false; }
  bool is_away() const { return away_; }

  // Without it nothing can be stale.
  void set_history(History history) { history_ = std::move(history); }
  // All watches break, and until so long from now whatever may come from a replica comes from one
  // that lags by this much; with `all_reads` also what asks for the newest state.
  void use_replica(Duration lag, Duration period, bool all_reads = false);
  void leave_replica() { replica_until_ = Duration::zero(); }

 private:
  class FaultyWatch;
  bool read_from_replica(Request& request, Duration age, ReplyCallback& done);
  bool uses_replica() const { return loop_.uptime() < replica_until_; }
  void forward(Request request, CallPlan plan, ReplyCallback done);
  void answer(Duration delay, Reply reply, ReplyCallback done);

  Api& inner_;
  Loop& loop_;
  FaultSource& source_;
  std::map<Fault, uint64_t> injected_;
  std::vector<FaultyWatch*> watches_;
  History history_;
  bool away_ = false;
  uint64_t outages_ = 0;
  Duration replica_lag_{0};
  Duration replica_until_{0};
  bool replica_serves_all_ = false;
  Scope scope_;
};

}  // namespace lockstep::kube

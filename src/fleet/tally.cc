#include "fleet/tally.h"

#include "base/strings.h"

namespace lockstep::fleet {

bool Waiting::operator<(const Waiting& other) const {
  if (gpu_pods != other.gpu_pods) return gpu_pods < other.gpu_pods;
  return natural_less(name, other.name);
}

bool Tally::update(const std::string& node, const NodeFacts& facts) {
  auto at = nodes_.find(node);
  if (at == nodes_.end()) {
    count(node, facts, +1);
    nodes_.emplace(node, facts);
    return true;
  }
  if (at->second == facts) return false;
  count(node, at->second, -1);
  count(node, facts, +1);
  at->second = facts;
  return true;
}

bool Tally::remove(const std::string& node) {
  auto at = nodes_.find(node);
  if (at == nodes_.end()) return false;
  count(node, at->second, -1);
  nodes_.erase(at);
  return true;
}

void Tally::reserve(const std::string& node) {
  if (reserved_.contains(node)) return;
  const NodeFacts* held = facts(node);
  if (held != nullptr) count(node, *held, -1);
  reserved_.insert(node);
  if (held != nullptr) count(node, *held, +1);
}

void Tally::release(const std::string& node) {
  if (!reserved_.contains(node)) return;
  const NodeFacts* held = facts(node);
  if (held != nullptr) count(node, *held, -1);
  reserved_.erase(node);
  if (held != nullptr) count(node, *held, +1);
}

const PoolCounts& Tally::counts(const std::string& pool) const {
  static const PoolCounts none;
  auto at = pools_.find(pool);
  return at == pools_.end() ? none : at->second.counts;
}

int64_t Tally::reserved_not_ready(const std::string& pool) const {
  auto at = pools_.find(pool);
  return at == pools_.end() ? 0 : at->second.reserved_not_ready;
}

const std::set<Waiting>& Tally::line(const std::string& pool,
                                     std::set<Waiting> Pool::* which) const {
  static const std::set<Waiting> none;
  auto at = pools_.find(pool);
  return at == pools_.end() ? none : at->second.*which;
}

const std::set<Waiting>& Tally::line(const std::string& pool, bool retry,
                                     std::set<Waiting> Lines::* which) const {
  static const std::set<Waiting> none;
  auto at = pools_.find(pool);
  if (at == pools_.end()) return none;
  return (retry ? at->second.retries : at->second.lines).*which;
}

const std::set<Waiting>& Tally::startable(const std::string& pool, bool retry) const {
  return line(pool, retry, &Lines::startable);
}

const std::set<Waiting>& Tally::startable_cordoned(const std::string& pool, bool retry) const {
  return line(pool, retry, &Lines::startable_cordoned);
}

const std::set<Waiting>& Tally::startable_again(const std::string& pool, bool retry) const {
  return line(pool, retry, &Lines::startable_again);
}

const std::set<Waiting>& Tally::recovering(const std::string& pool) const {
  return line(pool, &Pool::recovering);
}

const std::set<Waiting>& Tally::recovering_in_service(const std::string& pool) const {
  return line(pool, &Pool::recovering_in_service);
}

const std::set<std::string>& Tally::group(const std::string& pool, const std::string& name) const {
  static const std::set<std::string> nobody;
  auto at = pools_.find(pool);
  if (at == pools_.end()) return nobody;
  auto members = at->second.groups.find(name);
  return members == at->second.groups.end() ? nobody : members->second;
}

std::set<Waiting>& Tally::Pool::line_of(const NodeFacts& facts) {
  if (facts.state == State::failed) {
    return facts.unschedulable ? recovering : recovering_in_service;
  }
  Lines& of = facts.retry ? retries : lines;
  if (!facts.unschedulable) return of.startable;
  return facts.cordoned_by_others ? of.startable_cordoned : of.startable_again;
}

std::vector<std::string> Tally::pools() const {
  std::vector<std::string> names;
  for (const auto& [name, pool] : pools_) {
    if (pool.counts.total > 0) names.push_back(name);
  }
  return names;
}

const NodeFacts* Tally::facts(const std::string& node) const {
  auto at = nodes_.find(node);
  return at == nodes_.end() ? nullptr : &at->second;
}

void Tally::count(const std::string& node, const NodeFacts& facts, int64_t sign) {
  Pool& pool = pools_[facts.pool];
  PoolCounts& counts = pool.counts;
  bool reserved = reserved_.contains(node);
  counts.total += sign;
  // A node that a user uncordoned in the middle of its upgrade is cordoned again in a moment.
  bool leaves_service = is_active(facts.state) && facts.state != State::uncordon;
  if (facts.unschedulable || !facts.ready || leaves_service || reserved) {
    counts.unavailable += sign;
  }
  if (is_active(facts.state) || reserved) counts.active += sign;
  if (reserved && !facts.ready && !facts.unschedulable) pool.reserved_not_ready += sign;
  if (facts.state == State::failed) counts.failed += sign;
  if (facts.state == State::required) counts.waiting += sign;
  if (facts.state == State::done) counts.done += sign;
  if ((counts.by_state[facts.state] += sign) == 0) counts.by_state.erase(facts.state);
  if (!facts.group.empty()) {
    auto& members = pool.groups[facts.group];
    if (sign > 0) {
      members.insert(node);
    } else if (members.erase(node) > 0 && members.empty()) {
      pool.groups.erase(facts.group);
    }
  }
  if (!facts.startable || reserved) return;
  if (sign > 0) {
    pool.line_of(facts).insert(Waiting{facts.gpu_pods, node});
  } else {
    pool.line_of(facts).erase(Waiting{facts.gpu_pods, node});
  }
}

}  // namespace lockstep::fleet

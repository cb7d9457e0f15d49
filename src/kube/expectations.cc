#include "kube/expectations.h"

namespace lockstep::kube {

bool Expectations::OlderFirst::operator()(const Versioned& a, const Versioned& b) const {
  if (a.first.size() != b.first.size()) return a.first.size() < b.first.size();
  if (!(a.first == b.first)) return a.first < b.first;
  return a.second < b.second;
}

bool Expectations::is_comparable(std::string_view version) {
  // Two different numbers are ordered; of anything else only equality is known.
  return compare_versions(version, version == "1" ? "2" : "1") != VersionOrder::unknown;
}

void Expectations::expect(const ObjectKey& key, std::string_view version) {
  if (version.empty()) return;
  auto at = waiting_.try_emplace(key).first;
  Expectation& expectation = at->second;
  if (compare_versions(version, expectation.version) == VersionOrder::older) return;
  drop_version(at);
  expectation.version = Text(version);
  expectation.lists = 0;
  if (is_comparable(version)) by_version_.emplace(expectation.version, key);
}

void Expectations::expect_deleted(const ObjectKey& key, std::string_view uid) {
  Expectation& expectation = waiting_[key];
  expectation.deleted_uid = Text(uid);
  expectation.lists = 0;
}

void Expectations::clear(Keys& settled) {
  for (const auto& [key, expectation] : waiting_) settled.push_back(key);
  waiting_.clear();
  by_version_.clear();
}

void Expectations::saw(const ObjectMeta& meta, Keys& settled) {
  auto at = waiting_.find(meta.key());
  if (at == waiting_.end()) return;
  Expectation& expectation = at->second;
  VersionOrder order = compare_versions(meta.resource_version, expectation.version);
  if (order == VersionOrder::same || order == VersionOrder::newer) drop_version(at);
  if (!(meta.uid == expectation.deleted_uid) || meta.is_deleting()) {
    expectation.deleted_uid = Text();
  }
  finish(at, settled);
}

void Expectations::saw_deleted(const ObjectKey& key, std::string_view version, Keys& settled) {
  auto at = waiting_.find(key);
  if (at == waiting_.end()) return;
  // A deletion before our write would be of another object of that name; with versions that cannot
  // be compared the stream's order is all there is, and the object is gone.
  if (compare_versions(version, at->second.version) != VersionOrder::older) drop_version(at);
  at->second.deleted_uid = Text();
  finish(at, settled);
}

void Expectations::saw_version(std::string_view version, Keys& settled) {
  while (!by_version_.empty()) {
    auto first = by_version_.begin();
    VersionOrder order = compare_versions(first->first, version);
    if (order != VersionOrder::older && order != VersionOrder::same) return;
    auto at = waiting_.find(first->second);
    drop_version(at);
    finish(at, settled);
  }
}

void Expectations::saw_list(Keys& settled) {
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    Expectation& expectation = at->second;
    if (++expectation.lists >= 2) {
      expectation.deleted_uid = Text();
      if (!is_comparable(expectation.version)) expectation.version = Text();
    }
    at = finish(at, settled);
  }
}

void Expectations::drop_version(Waiting::iterator at) {
  by_version_.erase({at->second.version, at->first});
  at->second.version = Text();
}

Expectations::Waiting::iterator Expectations::finish(Waiting::iterator at, Keys& settled) {
  if (!at->second.version.empty() || !at->second.deleted_uid.empty()) return std::next(at);
  settled.push_back(at->first);
  return waiting_.erase(at);
}

}  // namespace lockstep::kube

#include "apiserver/kinds/kind.h"

#include <map>
#include <utility>

namespace lockstep::apiserver {

namespace {

using Name = std::pair<std::string_view, std::string_view>;  // plural, group

const std::map<Name, Kind>& kinds() {
  static const std::map<Name, Kind> all = [] {
    std::map<Name, Kind> rows;
    for (auto family : {pod_kinds, workload_kinds, cluster_kinds, data_kinds, network_kinds,
                        policy_kinds, device_kinds}) {
      for (Kind& kind : family()) {
        const Name name{kind.plural, kind.group};
        rows.emplace(name, std::move(kind));
      }
    }
    return rows;
  }();
  return all;
}

const Kind& find_kind(std::string_view plural, std::string_view group) {
  static const Kind plain;
  auto found = kinds().find({plural, group});
  return found == kinds().end() ? plain : found->second;
}

}  // namespace

const Kind& kind_of(const ResourceInfo& info) {
  static const Kind custom{.counts_generations = true};
  return info.custom ? custom : find_kind(info.type.plural, info.type.group);
}

const Kind& kind_stored_as(std::string_view storage) {
  const size_t dot = storage.find('.');
  if (dot == std::string_view::npos) return find_kind(storage, {});
  return find_kind(storage.substr(0, dot), storage.substr(dot + 1));
}

}  // namespace lockstep::apiserver

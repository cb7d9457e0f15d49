// get and list: selectors, paging over a consistent snapshot, and what resourceVersion asks for.
#pragma once

#include "apiserver/verbs/backend.h"
#include "objects/selector.h"

namespace lockstep::apiserver {

// labelSelector and fieldSelector of a list, watch or deletecollection.
struct Selection {
  std::string ns;
  LabelSelector labels;
  FieldSelector fields;

  bool matches(const Stored& object) const;
  bool everything() const { return labels.empty() && fields.empty(); }
};

Outcome<Selection> read_selection(const ResourceInfo& info, const kube::Request& request);

// The requested version; nothing if the request names none. 400 for an invalid version.
Outcome<std::optional<uint64_t>> read_version(const kube::Request& request);

Outcome<Answer> get_object(Backend& backend, const ResourceInfo& info,
                           const kube::Request& request);
Outcome<Answer> list_objects(Backend& backend, const ResourceInfo& info,
                             const kube::Request& request);

}  // namespace lockstep::apiserver

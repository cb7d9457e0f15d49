// Objects as the rows that `kubectl get` prints (meta.k8s.io/v1 Table).
#pragma once

#include <string>
#include <vector>

#include "apiserver/schema/resources.h"
#include "base/time.h"
#include "data/json.h"

namespace lockstep::apiserver {

enum class IncludeObject { none, metadata, object };

std::vector<Column> table_columns(const ResourceInfo& info);
// One element of "rows": cells, conditions and the object as asked for.
Json table_row(const ResourceInfo& info, const Json& object, IncludeObject include, Time now);
// The whole Table. `with_columns` false for the later events of a watch.
Json make_table(const ResourceInfo& info, const std::vector<Document>& objects,
                const std::string& resource_version, const std::string& continue_token,
                int64_t remaining, IncludeObject include, bool with_columns, Time now);

}  // namespace lockstep::apiserver

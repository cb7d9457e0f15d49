// Memory for documents that are copied and dropped all the time, as a store does with every write.
// A block that is given back waits in a list of its size for the next that asks: no search, no
// header, no merging. Documents that are copied from one in the pool are in the pool too.
//
//   Json object(*request.body, json_pool());
#pragma once

#include <boost/json/storage_ptr.hpp>

namespace lockstep {

// Lives as long as the process, so values may outlive whoever made them, and may be dropped by
// another thread. Memory is kept for later documents and never given back to the system. Sanitized
// builds get the ordinary heap, which sees more.
boost::json::storage_ptr json_pool();

}  // namespace lockstep

// Memory for documents, which are changed and dropped all the time, as a store does with every
// write. A block that is given back waits in a list of its size for the next that asks: no search,
// no header, no merging.
#pragma once

#include <cstddef>

namespace lockstep {

// Blocks may outlive the thread that allocated them, and another thread may free them. The pool
// keeps memory for later documents and never returns it to the system. Sanitized builds use the
// ordinary heap, so that the sanitizer detects more.
void* take_json_block(size_t size);
// `size` as it was asked for.
void give_json_block(void* block, size_t size) noexcept;

}  // namespace lockstep

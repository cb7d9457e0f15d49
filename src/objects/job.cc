#include "objects/job.h"

#include "objects/reading.h"

namespace lockstep {

template <typename Reader>
void decode(Reader& in, Job& job, DecodeContext& context) {
  auto number = [&](int32_t otherwise) {
    if (!in.at_null()) return static_cast<int32_t>(in.integer());
    in.skip();
    return otherwise;
  };
  in.object([&](std::string_view key) {
    if (key == "metadata") {
      decode(in, job.meta, context);
    } else if (key == "spec") {
      in.object([&](std::string_view field) {
        if (field == "completions") {
          job.completions = number(1);
        } else if (field == "parallelism") {
          job.parallelism = number(1);
        } else if (field == "suspend") {
          job.suspended = in.boolean();
        } else {
          in.skip();
        }
      });
    } else if (key == "status") {
      in.object([&](std::string_view field) {
        if (field == "active") {
          job.active = number(0);
        } else if (field == "succeeded") {
          job.succeeded = number(0);
        } else if (field == "failed") {
          job.failed = number(0);
        } else if (field == "startTime") {
          job.started = read_time(in, context);
        } else if (field == "completionTime") {
          job.completed = read_time(in, context);
        } else if (field == "conditions") {
          read_vector(in, job.conditions, context);
        } else {
          in.skip();
        }
      });
    } else {
      in.skip();
    }
  });
}
LOCKSTEP_INSTANTIATE_DECODE(Job);

}  // namespace lockstep

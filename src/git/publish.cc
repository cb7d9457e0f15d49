#include "git/publish.h"

#include <fmt/format.h>

namespace lockstep::git {

Result<Published> publish(Clone& clone, const Stage& stage, const PublishOptions& options) {
  Published published;
  while (published.tries < options.tries) {
    if (published.tries > 0) LOCKSTEP_CHECK(clone.catch_up());
    ++published.tries;
    LOCKSTEP_TRY(const std::string message, stage(clone));
    LOCKSTEP_TRY(const bool has_change, clone.has_staged());
    if (!has_change) return published;
    LOCKSTEP_TRY(published.diff, clone.staged_diff());
    if (options.dry_run) return published;
    LOCKSTEP_TRY(const std::string commit, clone.commit(message));
    LOCKSTEP_TRY(const PushOutcome outcome, clone.push());
    if (outcome == PushOutcome::outrun) continue;
    published.commit = commit;
    return published;
  }
  return fail(ErrorKind::conflict,
              fmt::format("another user pushed to {} each time, {} times; nothing of ours was "
                          "pushed: try again",
                          clone.branch(), options.tries));
}

}  // namespace lockstep::git

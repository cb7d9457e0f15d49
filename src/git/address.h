// The address of a repository that others name: a DriverRollout of the cluster, or an administrator
// who allows it. It is read strictly and written by us: git gets our own text of it, so that git
// and we cannot understand the same text differently.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace lockstep::git {

// Whether local directories, and plain HTTP to this machine, are addresses too: in tests and
// demonstrations.
enum class Local { refused, accepted };

struct RepositoryAddress {
  std::string scheme;  // https or ssh; with Local::accepted also http and file
  std::string user;    // of ssh alone
  std::string host;    // in lower case; IPv6 in brackets
  int port = 0;        // 0: the scheme's own
  std::string path;    // "/team/matrix.git": no empty part, no "." or "..", no slash at the end

  // "https://git.example.com/team/matrix.git"; of a local directory its path.
  std::string text() const;
  // The same scheme, user, host and port.
  bool has_origin_of(const RepositoryAddress& other) const;
  bool operator==(const RepositoryAddress&) const = default;
};

Result<RepositoryAddress> parse_address(std::string_view text, Local local = Local::refused);

}  // namespace lockstep::git

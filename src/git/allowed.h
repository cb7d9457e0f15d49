// Which repositories others may name, and what git may show to each. The author of a DriverRollout
// decides where the controller connects to and commits; without this list, also which server gets
// its credential.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "git/address.h"
#include "git/program.h"

namespace lockstep::git {

// How git is started for one repository.
struct Access {
  std::string address;      // what git is given: our own text of it
  std::string protocol;     // the only one that git may use
  Config config;            // with the credential, for this address alone
  Environment environment;  // besides what git has anyway
};

class AllowedRepositories {
 public:
  // Each entry is an address, exact, or with "/" at its end all repositories below it; behind it,
  // after commas, files that hold its credential: "header-file=", "ssh-key=", "known-hosts=".
  static Result<AllowedRepositories> read(const std::vector<std::string>& entries,
                                          Local local = Local::refused);

  // forbidden: it is not on the list; invalid: it is not an address that may be.
  Result<void> check(const std::string& repository) const;
  // The same, with the credential as its file is now.
  Result<Access> open(const std::string& repository) const;

 private:
  struct Entry {
    RepositoryAddress address;
    bool is_prefix = false;
    std::string header_file;
    std::string ssh_key;
    std::string known_hosts;

    bool allows(const RepositoryAddress& asked) const;
  };
  struct Match {
    RepositoryAddress address;
    const Entry* entry = nullptr;
  };
  static Result<Entry> read_entry(const std::string& text, Local local);
  static Result<void> read_setting(std::string_view setting, Entry& entry);
  Result<Match> find(const std::string& repository) const;

  Local local_ = Local::refused;
  std::vector<Entry> entries_;
};

}  // namespace lockstep::git

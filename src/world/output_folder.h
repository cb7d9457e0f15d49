// Output that a user asked for by name. A symbolic link that another user has put there must not
// decide which file is overwritten: it is an error. A link to a directory above the output is the
// user's own and is followed.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "world/descriptor.h"

namespace lockstep {

// One file, replaced in one step. Devices and pipes (/dev/stdout) are written to.
Result<void> write_output(const std::string& path, std::string_view content, int mode = 0644);

// A directory whose files are written one by one. Nothing below it may be a link on the way.
class OutputFolder {
 public:
  // Made when it is missing, with those above it.
  static Result<OutputFolder> open(const std::string& path);

  // `relative` is a path below it; directories on the way are made.
  Result<void> write(const std::string& relative, std::string_view content, int mode = 0644) const;
  // not_found when it is not there.
  Result<std::string> read(const std::string& relative) const;

 private:
  struct Place {
    Descriptor directory;
    std::string name;
  };
  OutputFolder(std::string path, Descriptor root)
      : path_(std::move(path)), root_(std::move(root)) {}
  std::string shown(std::string_view relative) const;
  Result<Descriptor> enter(int directory, const std::string& name, const std::string& way,
                           bool make) const;
  Result<Place> find(const std::string& relative, bool make) const;

  std::string path_;
  Descriptor root_;
};

}  // namespace lockstep

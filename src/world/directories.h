// Whole directories as values: read into a map of files, and written so that readers see either the
// old directory or the new one.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace lockstep {

struct TreeFile {
  std::string content;
  bool executable = false;

  bool operator==(const TreeFile&) const = default;
};

// By path from the root, with '/'.
using Tree = std::map<std::string, TreeFile, std::less<>>;
using TreeTexts = std::map<std::string, std::string, std::less<>>;

// Far above any catalogue or bundle: a home directory given by mistake is refused, not read.
struct TreeLimits {
  size_t files = 20'000;
  size_t file_bytes = 16 << 20;
  size_t total_bytes = 256 << 20;
  size_t depth = 64;
};

// Where what is called ".git" is passed over. A repository has it at its top, but a chart below may
// bring one that Helm reads like any other folder.
enum class PassOverGit { everywhere, at_the_top };

// All regular files below `path`, but for ".git". A symbolic link is followed
// when it stays inside; one that leads out, a device, a socket, or more than the limits: an error
// that says which.
Result<Tree> read_tree_with_modes(const std::string& path, const TreeLimits& limits = {},
                                  PassOverGit git = PassOverGit::everywhere);
Result<TreeTexts> read_tree(const std::string& path, const TreeLimits& limits = {});

// False also when there is nothing.
bool is_directory(const std::string& path);

// The names in a directory, sorted; without "." and "..".
Result<std::vector<std::string>> list_directory(const std::string& path);

// With all directories above it that are missing. Gives those that were made, outermost first.
Result<std::vector<std::string>> make_directories(const std::string& path);

// Whether a directory with these names at its top may be replaced.
using IsOurs = std::function<bool(const std::vector<std::string>& names)>;

// Makes `target` hold these files and nothing else. They are written into a directory beside it,
// which then takes its place in one step: when something fails (a full disk, no permission),
// `target` is as it was and nothing is left beside it. What a killed run left is removed by the
// next.
//
// A directory that is not empty is replaced only when `is_ours` says so. A link to a directory
// stays a link. Missing parents are made.
//
// A directory that cannot be exchanged is filled in place, entry by entry, and put back when that
// fails: a mount point (a volume of a container), one above which nothing can be written, our
// working directory (the shell would stay behind in the old one), or the root of a git repository,
// which keeps its .git.
//
// Nothing is synced to disk: that takes a hundred times as long as all the rest, and after a power
// failure the checksums tell, and the same command writes the same bytes again.
Result<void> replace_tree(const std::string& target, const Tree& files, const IsOurs& is_ours);

}  // namespace lockstep

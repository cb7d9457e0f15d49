#include "world/directories.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <sys/stat.h>
#include <utility>

#include "world/descriptor.h"
#include "world/system_error.h"

namespace lockstep {

namespace {

struct CloseDirectory {
  void operator()(DIR* directory) const { closedir(directory); }
};

Result<std::string> resolve(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> resolved(realpath(path.c_str(), nullptr),
                                                             &std::free);
  if (!resolved) return system_failure("read", path, errno);
  return std::string(resolved.get());
}

bool is_below(const std::string& path, const std::string& root) {
  return path == root || root == "/" || path.starts_with(root + "/");
}

class TreeReader {
 public:
  TreeReader(std::string root, std::string shown, const TreeLimits& limits, PassOverGit git)
      : root_(std::move(root)), shown_(std::move(shown)), limits_(limits), git_(git) {}

  Result<Tree> read() {
    LOCKSTEP_CHECK(read_directory(root_, ""));
    return std::move(tree_);
  }

 private:
  using Identity = std::pair<dev_t, ino_t>;

  std::string shown(const std::string& relative) const { return shown_ + "/" + relative; }

  Result<void> read_directory(const std::string& path, const std::string& prefix) {
    const Descriptor directory(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    struct stat info{};
    if (!directory || fstat(directory.get(), &info) != 0) {
      return system_failure("read", prefix.empty() ? shown_ : shown(prefix), errno);
    }
    const Identity self(info.st_dev, info.st_ino);
    if (std::find(above_.begin(), above_.end(), self) != above_.end()) {
      return failf(ErrorKind::invalid,
                   "cannot read {}: the symbolic link leads to a directory above it",
                   shown(prefix));
    }
    if (above_.size() >= limits_.depth) {
      return failf(ErrorKind::too_large, "cannot read {}: more than {} directories deep",
                   shown(prefix), limits_.depth);
    }
    above_.push_back(self);
    LOCKSTEP_TRY(const std::vector<std::string> names, list_directory(path));
    for (const std::string& name : names) {
      const bool may_pass = prefix.empty() || git_ == PassOverGit::everywhere;
      if (may_pass && name == ".git") continue;
      const std::string relative = prefix.empty() ? name : prefix + "/" + name;
      LOCKSTEP_CHECK(read_entry(directory.get(), path + "/" + name, name, relative));
    }
    above_.pop_back();
    return {};
  }

  Result<void> read_entry(int directory, const std::string& path, const std::string& name,
                          const std::string& relative) {
    struct stat info{};
    if (fstatat(directory, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
      return system_failure("read", shown(relative), errno);
    }
    if (S_ISLNK(info.st_mode)) return read_link(path, relative);
    if (S_ISDIR(info.st_mode)) return read_directory(path, relative);
    return read_file(directory, name, info, relative);
  }

  Result<void> read_link(const std::string& path, const std::string& relative) {
    auto resolved = resolve(path);
    if (!resolved) {
      return failf(resolved.error().kind, "cannot read {}: the symbolic link leads nowhere",
                   shown(relative));
    }
    if (!is_below(*resolved, root_)) {
      return failf(ErrorKind::invalid,
                   "cannot read {}: the symbolic link leads out of {}: put a copy in its place",
                   shown(relative), shown_);
    }
    struct stat info{};
    if (stat(resolved->c_str(), &info) != 0) return system_failure("read", shown(relative), errno);
    if (S_ISDIR(info.st_mode)) return read_directory(*resolved, relative);
    return read_file(AT_FDCWD, *resolved, info, relative);
  }

  Result<void> read_file(int directory, const std::string& name, const struct stat& info,
                         const std::string& relative) {
    if (!S_ISREG(info.st_mode)) {
      return failf(ErrorKind::invalid, "cannot read {}: it is neither a file nor a directory",
                   shown(relative));
    }
    if (tree_.size() >= limits_.files) {
      return failf(ErrorKind::too_large, "cannot read {}: it holds more than {} files", shown_,
                   limits_.files);
    }
    // Not blocking: by now it may be a pipe.
    const Descriptor file(openat(directory, name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!file) return system_failure("read", shown(relative), errno);
    TreeFile read;
    read.executable = (info.st_mode & S_IXUSR) != 0;
    read.content.resize(std::min(static_cast<size_t>(info.st_size), limits_.file_bytes) + 1);
    size_t size = 0;
    for (;;) {
      const ssize_t count =
          ::read(file.get(), read.content.data() + size, read.content.size() - size);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return system_failure("read", shown(relative), errno);
      if (count == 0) break;
      size += static_cast<size_t>(count);
      if (size > limits_.file_bytes) {
        return failf(ErrorKind::too_large, "cannot read {}: it is larger than {} bytes",
                     shown(relative), limits_.file_bytes);
      }
      if (size == read.content.size()) read.content.resize(size * 2);
    }
    read.content.resize(size);
    total_ += size;
    if (total_ > limits_.total_bytes) {
      return failf(ErrorKind::too_large, "cannot read {}: its files have more than {} bytes",
                   shown_, limits_.total_bytes);
    }
    tree_.emplace(relative, std::move(read));
    return {};
  }

  const std::string root_;   // without links
  const std::string shown_;  // as it was given
  const TreeLimits limits_;
  const PassOverGit git_;
  Tree tree_;
  size_t total_ = 0;
  std::vector<Identity> above_;
};

}  // namespace

bool is_directory(const std::string& path) {
  struct stat status = {};
  return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

Result<std::vector<std::string>> list_directory(const std::string& path) {
  const std::unique_ptr<DIR, CloseDirectory> directory(opendir(path.c_str()));
  if (!directory) return system_failure("read", path, errno);
  std::vector<std::string> names;
  for (;;) {
    errno = 0;
    const dirent* entry = readdir(directory.get());
    if (entry == nullptr) break;
    std::string name(entry->d_name);
    if (name != "." && name != "..") names.push_back(std::move(name));
  }
  if (errno != 0) return system_failure("read", path, errno);
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::vector<std::string>> make_directories(const std::string& path) {
  std::vector<std::string> made;
  for (size_t slash = 0; slash != std::string::npos;) {
    slash = path.find('/', slash + 1);
    const std::string part = path.substr(0, slash);
    if (part.empty() || part.back() == '/') continue;
    if (mkdir(part.c_str(), 0777) == 0) {
      made.push_back(part);
      continue;
    }
    const int error = errno;
    struct stat info{};
    if (stat(part.c_str(), &info) != 0) return system_failure("make the directory", part, error);
    if (!S_ISDIR(info.st_mode)) {
      return failf(ErrorKind::invalid, "cannot make the directory {}: {} is no directory", path,
                   part);
    }
  }
  return made;
}

Result<Tree> read_tree_with_modes(const std::string& path, const TreeLimits& limits,
                                  PassOverGit git) {
  LOCKSTEP_TRY(std::string root, resolve(path));
  std::string shown = path;
  while (shown.size() > 1 && shown.ends_with('/')) shown.pop_back();
  return TreeReader(std::move(root), std::move(shown), limits, git).read();
}

Result<TreeTexts> read_tree(const std::string& path, const TreeLimits& limits) {
  LOCKSTEP_TRY(Tree tree, read_tree_with_modes(path, limits));
  TreeTexts texts;
  for (auto& [name, file] : tree) texts.emplace_hint(texts.end(), name, std::move(file.content));
  return texts;
}

}  // namespace lockstep

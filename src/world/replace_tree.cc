#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <utility>

#include <climits>

#include "base/strings.h"
#include "world/descriptor.h"
#include "world/directories.h"
#include "world/system_error.h"

namespace lockstep {

namespace {

constexpr std::string_view staging_prefix = ".lockstep-tree-";
constexpr std::string_view kept_name = ".git";

bool is_staging(std::string_view name) {
  if (!name.starts_with(staging_prefix)) return false;
  name.remove_prefix(staging_prefix.size());
  return !name.empty() && name.find_first_not_of("0123456789-") == std::string_view::npos;
}

// A name from values or recipes must not lead out of the directory.
Result<void> check_paths(const Tree& files) {
  for (const auto& [path, file] : files) {
    for (const std::string_view part : split(path, '/')) {
      if (part.empty() || part == "." || part == ".." ||
          part.find('\0') != std::string_view::npos) {
        return failf(ErrorKind::invalid,
                     "cannot write a file with the path \"{}\": it must stay inside", path);
      }
    }
    const std::string_view top = std::string_view(path).substr(0, path.find('/'));
    if (top == kept_name || is_staging(top)) {
      return failf(ErrorKind::invalid, "cannot write a file with the path \"{}\": {} is not for us",
                   path, top);
    }
  }
  return {};
}

void remove_directory(const std::string& path) {
  std::error_code ignored;  // it does no harm, and the next run tries again
  std::filesystem::remove_all(path, ignored);
}

// A directory that only we fill. It is removed with this object, whatever its name refers
// to.
class Staging {
 public:
  // The lock says that its owner lives: it ends with the process, however that ends.
  static Result<Staging> make_in(const std::string& directory) {
    for (int number = 0; number < 1000; ++number) {
      std::string path = fmt::format("{}/{}{}-{}", directory, staging_prefix, getpid(), number);
      if (mkdir(path.c_str(), 0777) != 0) {
        if (errno == EEXIST) continue;
        return system_failure("make a directory in", directory, errno);
      }
      Descriptor opened(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      if (!opened) {
        const int error = errno;
        rmdir(path.c_str());
        return system_failure("open", path, error);
      }
      flock(opened.get(), LOCK_EX | LOCK_NB);
      return Staging(std::move(path), std::move(opened));
    }
    return failf(ErrorKind::exists, "cannot make a directory in {}: remove what is called {}*",
                 directory, staging_prefix);
  }
  Staging(Staging&&) = default;
  ~Staging() {
    if (opened_) remove_directory(path_);
  }

  const std::string& path() const { return path_; }
  int descriptor() const { return opened_.get(); }

  // It is not removed: it holds something that is nowhere else.
  void leave() { opened_ = {}; }

  Result<void> fill(const Tree& files) const {
    std::set<std::string, std::less<>> made;
    for (const auto& [path, file] : files) {
      for (size_t slash = path.find('/'); slash != std::string::npos;
           slash = path.find('/', slash + 1)) {
        const std::string folder = path.substr(0, slash);
        if (!made.insert(folder).second) continue;
        if (mkdirat(descriptor(), folder.c_str(), 0777) != 0) {
          return system_failure("write", path, errno);
        }
      }
      Descriptor opened(openat(descriptor(), path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                               file.executable ? 0777 : 0666));
      if (!opened) return system_failure("write", path, errno);
      int error = write_all(opened.get(), file.content);
      if (error == 0) error = opened.close_now();
      if (error != 0) return system_failure("write", path, error);
    }
    return {};
  }

 private:
  Staging(std::string path, Descriptor opened)
      : path_(std::move(path)), opened_(std::move(opened)) {}

  std::string path_;
  Descriptor opened_;
};

// What killed runs left; never what a living one is at.
void remove_leftovers(const std::string& directory) {
  const auto names = list_directory(directory);
  if (!names) return;
  for (const std::string& name : *names) {
    if (!is_staging(name)) continue;
    const std::string path = directory + "/" + name;
    const Descriptor opened(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (opened && flock(opened.get(), LOCK_EX | LOCK_NB) == 0) remove_directory(path);
  }
}

bool is_mount_point(const std::string& path, const std::string& parent) {
  struct statx info{};
  if (statx(AT_FDCWD, path.c_str(), 0, 0, &info) == 0 &&
      (info.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) != 0) {
    return (info.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
  }
  struct stat own{};
  struct stat above{};
  return stat(path.c_str(), &own) == 0 && stat(parent.c_str(), &above) == 0 &&
         own.st_dev != above.st_dev;
}

bool is_working_directory_or_above(const std::string& path) {
  std::error_code error;
  const std::string working = std::filesystem::current_path(error).string();
  return !error && (working == path || path == "/" || working.starts_with(path + "/"));
}

struct Target {
  std::string path;  // of what is replaced: no link
  std::string parent;
  bool exists = false;
  mode_t mode = 0;
  std::vector<std::string> names;  // what it holds, without what killed runs left
};

Result<Target> examine(const std::string& given) {
  Target target;
  target.path = given;
  while (target.path.size() > 1 && target.path.ends_with('/')) target.path.pop_back();
  if (target.path.empty()) return fail(ErrorKind::invalid, "no directory to write to was given");
  struct stat info{};
  if (lstat(target.path.c_str(), &info) == 0) {
    const std::unique_ptr<char, decltype(&std::free)> resolved(
        realpath(target.path.c_str(), nullptr), &std::free);
    if (!resolved) return system_failure("write to", given, errno);
    target.path = resolved.get();
    if (stat(target.path.c_str(), &info) != 0) return system_failure("write to", given, errno);
    if (!S_ISDIR(info.st_mode)) {
      return failf(ErrorKind::exists, "cannot write to {}: it is no directory", given);
    }
    target.exists = true;
    target.mode = info.st_mode & 07777;
    LOCKSTEP_TRY(target.names, list_directory(target.path));
    std::erase_if(target.names, is_staging);
  } else if (errno != ENOENT && errno != ENOTDIR) {
    return system_failure("write to", given, errno);
  }
  const size_t slash = target.path.rfind('/');
  target.parent = slash == std::string::npos ? "."
                  : slash == 0               ? "/"
                                             : target.path.substr(0, slash);
  return target;
}

Result<void> check_ours(const Target& target, const std::string& given, const IsOurs& is_ours) {
  std::vector<std::string> names = target.names;
  std::erase(names, kept_name);
  if (names.empty() || is_ours(names)) return {};
  constexpr size_t shown = 3;
  const bool more = names.size() > shown;
  if (more) names.resize(shown);
  return failf(
      ErrorKind::exists,
      "{} holds something that we did not write ({}{}): choose another directory, or empty "
      "this one",
      given, join(names, ", "), more ? ", ..." : "");
}

// An errno, or 0.
int exchange(const Target& target, const Staging& staging) {
  const char* from = staging.path().c_str();
  const char* to = target.path.c_str();
  if (!target.exists) return rename(from, to) == 0 ? 0 : errno;
  if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_EXCHANGE) == 0) return 0;
  // Some network file systems cannot exchange: then for a moment there is nothing.
  if (errno != EINVAL && errno != ENOSYS && errno != ENOTSUP) return errno;
  auto aside = Staging::make_in(target.parent);
  if (!aside || rename(to, aside->path().c_str()) != 0) return EBUSY;
  if (rename(from, to) == 0) return 0;
  const int error = errno;
  if (rename(aside->path().c_str(), to) != 0) aside->leave();
  return error;
}

Result<void> replace_in_place(const Target& target, const Tree& files) {
  LOCKSTEP_TRY(const Staging fresh, Staging::make_in(target.path));
  LOCKSTEP_CHECK(fresh.fill(files));
  LOCKSTEP_TRY(Staging old, Staging::make_in(target.path));
  LOCKSTEP_TRY(const std::vector<std::string> names, list_directory(fresh.path()));
  struct Move {
    std::string from;
    std::string to;
  };
  std::vector<Move> moves;
  for (const std::string& name : target.names) {
    if (name == kept_name) continue;
    moves.push_back({target.path + "/" + name, old.path() + "/" + name});
  }
  for (const std::string& name : names) {
    moves.push_back({fresh.path() + "/" + name, target.path + "/" + name});
  }
  for (auto move = moves.begin(); move != moves.end(); ++move) {
    if (rename(move->from.c_str(), move->to.c_str()) == 0) continue;
    const Unexpected failure = system_failure("replace", move->from, errno);
    bool restored = true;
    while (move != moves.begin()) {
      --move;
      restored = rename(move->to.c_str(), move->from.c_str()) == 0 && restored;
    }
    if (restored) return failure;
    old.leave();
    return failf(failure.value().kind, "{}; what could not be put back is in {}",
                 failure.value().message, old.path());
  }
  return {};
}

Result<void> replace_beside(const Target& target, const Staging& staging, const Tree& files) {
  LOCKSTEP_CHECK(staging.fill(files));
  if (target.exists && fchmod(staging.descriptor(), target.mode) != 0) {
    return system_failure("replace", target.path, errno);
  }
  const int error = exchange(target, staging);
  if (error == 0) return {};
  // Something is mounted there after all.
  if (target.exists && error == EBUSY) return replace_in_place(target, files);
  return system_failure("replace", target.path, error);
}

bool must_stay(const Target& target) {
  return target.exists &&
         (std::binary_search(target.names.begin(), target.names.end(), kept_name) ||
          is_working_directory_or_above(target.path) || is_mount_point(target.path, target.parent));
}

Result<void> replace(const Target& target, const Tree& files) {
  if (!must_stay(target)) {
    auto staging = Staging::make_in(target.parent);
    if (staging) return replace_beside(target, *staging, files);
    if (!target.exists || staging.error().kind != ErrorKind::forbidden) {
      return fail(staging.error());
    }
  }
  return replace_in_place(target, files);
}

}  // namespace

Result<void> replace_tree(const std::string& given, const Tree& files, const IsOurs& is_ours) {
  LOCKSTEP_CHECK(check_paths(files));
  LOCKSTEP_TRY(const Target target, examine(given));
  LOCKSTEP_CHECK(check_ours(target, given, is_ours));
  LOCKSTEP_TRY(const std::vector<std::string> made, make_directories(target.parent));
  if (auto replaced = replace(target, files); !replaced) {
    for (auto path = made.rbegin(); path != made.rend(); ++path) rmdir(path->c_str());
    return fail(replaced.error().at(given));
  }
  // Only now: what was killed between two renames may have left the only copy of the old directory.
  remove_leftovers(target.parent);
  if (target.exists) remove_leftovers(target.path);
  return {};
}

}  // namespace lockstep

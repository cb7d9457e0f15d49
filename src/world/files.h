// Files as a part that is handed in: the real file system, or one in memory.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace lockstep {

class Files {
 public:
  virtual ~Files() = default;
  virtual Result<std::string> read(const std::string& path) const = 0;
  // All or nothing: the old content stays until the new one is complete. mode as in chmod. Follows
  // a symbolic link; makes no directories.
  virtual Result<void> write(const std::string& path, std::string_view content,
                             int mode = 0644) = 0;
  virtual Result<void> remove(const std::string& path) = 0;
  virtual bool exists(const std::string& path) const = 0;
  // Changes when the file does; fails when it is not there.
  virtual Result<std::string> fingerprint(const std::string& path) const = 0;
};

class SystemFiles final : public Files {
 public:
  Result<std::string> read(const std::string& path) const override;
  Result<void> write(const std::string& path, std::string_view content, int mode = 0644) override;
  Result<void> remove(const std::string& path) override;
  bool exists(const std::string& path) const override;
  Result<std::string> fingerprint(const std::string& path) const override;
};

class MemoryFiles final : public Files {
 public:
  Result<std::string> read(const std::string& path) const override;
  Result<void> write(const std::string& path, std::string_view content, int mode = 0644) override;
  Result<void> remove(const std::string& path) override;
  bool exists(const std::string& path) const override;
  Result<std::string> fingerprint(const std::string& path) const override;

  std::map<std::string, std::string> contents;
};

}  // namespace lockstep

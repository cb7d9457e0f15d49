// The plugin's own files. What it must remember is appended, and the plugin waits until it is on
// disk; it does not wait for what it can make again from that.
#pragma once

#include <string>
#include <string_view>

#include "world/files.h"

namespace lockstep::dra {

class StateFiles : public Files {
 public:
  // At the end of a file that is there; on disk when it returns. When it fails, the file is as it
  // was, or has a part of the content at its end.
  virtual Result<void> append(const std::string& path, std::string_view content) = 0;
  // All or nothing as write(), for readers of the file; on disk at some time. After a power failure
  // it may be empty or gone.
  virtual Result<void> write_unsynced(const std::string& path, std::string_view content,
                                      int mode = 0644) = 0;
};

class SystemStateFiles final : public StateFiles {
 public:
  Result<std::string> read(const std::string& path) const override { return files_.read(path); }
  Result<void> write(const std::string& path, std::string_view content, int mode) override {
    return files_.write(path, content, mode);
  }
  Result<void> remove(const std::string& path) override { return files_.remove(path); }
  bool exists(const std::string& path) const override { return files_.exists(path); }
  Result<std::string> fingerprint(const std::string& path) const override {
    return files_.fingerprint(path);
  }
  Result<void> append(const std::string& path, std::string_view content) override;
  Result<void> write_unsynced(const std::string& path, std::string_view content, int mode) override;

 private:
  SystemFiles files_;
};

}  // namespace lockstep::dra

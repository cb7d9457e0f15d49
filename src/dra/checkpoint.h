// What the kubelet plugin remembers over its own end: which claims are prepared, and on which
// devices. One file, replaced as a whole and synced to disk before anything that depends on it is
// done. A line for each claim, with a checksum over the line's very bytes, so that one that was
// damaged costs that claim and no other.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "world/files.h"
#include "world/log.h"

namespace lockstep::dra {

struct PreparedDevice {
  std::vector<std::string> requests;
  std::string pool;
  std::string device;
  std::vector<std::string> cdi_ids;
  std::string share_id;
  std::vector<std::string> environment;  // "NAME=value", what the claim asked for
  bool admin_access = false;

  bool operator==(const PreparedDevice&) const = default;
};

enum class ClaimPhase {
  preparing,  // written first: the devices are taken, and perhaps a CDI spec is there
  prepared,
};

struct CheckpointEntry {
  std::string uid;
  std::string ns;
  std::string name;
  ClaimPhase phase = ClaimPhase::preparing;
  std::vector<PreparedDevice> devices;

  bool operator==(const CheckpointEntry&) const = default;
};
using CheckpointEntries = std::map<std::string, CheckpointEntry>;  // by uid

struct CheckpointReading {
  CheckpointEntries entries;
  // What could not be read, as it was, and why.
  std::vector<std::string> bad_lines;
  std::vector<std::string> problems;
  // Entries from before the machine was started: their containers are gone.
  size_t from_before = 0;
};

std::string encode_checkpoint(const CheckpointEntries& entries, std::string_view boot_id);
// Never fails: what cannot be read is a problem, and the rest counts.
CheckpointReading decode_checkpoint(std::string_view bytes, std::string_view boot_id);

class Checkpoint {
 public:
  // Fails only when there is a file that cannot be read at all, or that cannot be written. What is
  // damaged is put aside into `path`.set-aside, and reported.
  static Result<Checkpoint> open(Files& files, std::string path, std::string boot_id, Log& log);

  // What another process has made of it since; as before when it fails.
  Result<void> reload();
  // On disk when they return; as before when they fail.
  Result<void> put(CheckpointEntry entry);
  Result<void> erase(const std::string& uid);
  const CheckpointEntries& entries() const { return entries_; }
  const CheckpointEntry* find(const std::string& uid) const;

 private:
  Checkpoint(Files& files, std::string path, std::string boot_id, Log& log)
      : files_(&files), log_(&log), path_(std::move(path)), boot_id_(std::move(boot_id)) {}
  Result<void> read();
  Result<void> write(CheckpointEntries entries);

  Files* files_;
  Log* log_;
  std::string path_;
  std::string boot_id_;
  std::string fingerprint_;  // of the file that entries_ are
  CheckpointEntries entries_;
};

}  // namespace lockstep::dra

// What the kubelet plugin remembers over its own end: which claims are prepared, and on which
// devices. One file to which a line is appended for each claim that is prepared or given back, and
// which is on disk before anything that depends on it is done; the last line of a claim counts. A
// line has a checksum over its very bytes, so that one that was damaged costs that claim and no
// other. Now and then, and at the start after an end in the middle of a line, the file is replaced
// by one with what counts.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "dra/state_files.h"
#include "world/log.h"

namespace lockstep::dra {

struct PreparedDevice {
  std::vector<std::string> requests;
  std::string pool;
  std::string device;
  std::vector<std::string> cdi_ids;
  std::string share_id;
  std::vector<std::string> environment;  // "NAME=value", what the claim asked for
  std::string time_slice;                // "Short" and the like, which the GPU was set to
  bool admin_access = false;

  bool operator==(const PreparedDevice&) const = default;
};

enum class ClaimPhase {
  preparing,  // of version 1 of the file: the devices are taken, and perhaps a CDI spec is there
  prepared,   // the devices are taken; a missing CDI spec is made again
};

struct CheckpointEntry {
  std::string uid;
  std::string ns;
  std::string name;
  ClaimPhase phase = ClaimPhase::prepared;
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
  // The last line has no end: its writer was killed before it reported success.
  bool is_cut_off = false;
  size_t lines = 0;
};

std::string encode_checkpoint(const CheckpointEntries& entries, std::string_view boot_id);
// Never fails: what cannot be read is a problem, and the rest counts.
CheckpointReading decode_checkpoint(std::string_view bytes, std::string_view boot_id);

class Checkpoint {
 public:
  // Fails only when there is a file that cannot be read at all, or that cannot be written. What is
  // damaged is put aside into `path`.set-aside, and reported.
  static Result<Checkpoint> open(StateFiles& files, std::string path, std::string boot_id,
                                 Log& log);

  // What another process has made of it since; as before when it fails.
  Result<void> reload();
  // On disk when they return, all with one wait for it; as before when they fail.
  Result<void> put(std::vector<CheckpointEntry> entries);
  Result<void> erase(const std::vector<std::string>& uids);
  Result<void> put(CheckpointEntry entry);
  Result<void> erase(const std::string& uid);
  const CheckpointEntries& entries() const { return entries_; }
  const CheckpointEntry* find(const std::string& uid) const;

 private:
  Checkpoint(StateFiles& files, std::string path, std::string boot_id, Log& log)
      : files_(&files), log_(&log), path_(std::move(path)), boot_id_(std::move(boot_id)) {}
  Result<void> read();
  Result<void> commit(const std::string& lines, size_t count, CheckpointEntries entries);
  Result<void> write(CheckpointEntries entries);

  StateFiles* files_;
  Log* log_;
  std::string path_;
  std::string boot_id_;
  std::string fingerprint_;  // of the file that entries_ are
  CheckpointEntries entries_;
  size_t lines_ = 0;           // in the file
  bool must_replace_ = false;  // its end may be half a line
};

}  // namespace lockstep::dra

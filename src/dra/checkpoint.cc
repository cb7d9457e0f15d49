#include "dra/checkpoint.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/sha256.h"
#include "base/strings.h"
#include "data/json.h"

namespace lockstep::dra {

namespace {

using Texts = std::vector<std::string>;

constexpr std::string_view header = "lockstep-dra-checkpoint 2";
// A line for each claim, and none for those that were given back: it reads the same.
constexpr std::string_view first_header = "lockstep-dra-checkpoint 1";
constexpr size_t checksum_length = 64;
// Of damaged lines: enough for a user to examine, not an archive.
constexpr size_t set_aside_limit = 1 << 20;
// Lines that no longer count, beyond as many as do, before the file is replaced.
constexpr size_t old_lines_allowed = 256;

JsonArray texts_to_json(const std::vector<std::string>& texts) {
  JsonArray array;
  for (const auto& text : texts) array.emplace_back(text);
  return array;
}

JsonObject to_json(const PreparedDevice& device) {
  JsonObject json{{"requests", texts_to_json(device.requests)},
                  {"pool", device.pool},
                  {"device", device.device},
                  {"cdiIds", texts_to_json(device.cdi_ids)},
                  {"shareId", device.share_id},
                  {"environment", texts_to_json(device.environment)},
                  {"adminAccess", device.admin_access}};
  if (!device.time_slice.empty()) json["timeSlice"] = device.time_slice;
  return json;
}

std::string line_of(const JsonObject& json) {
  std::string text = print_json(json);
  return fmt::format("{} {}\n", sha256_hex(text), text);
}

std::string encode_line(const CheckpointEntry& entry, std::string_view boot_id) {
  JsonArray devices;
  for (const auto& device : entry.devices) devices.push_back(to_json(device));
  return line_of(
      JsonObject{{"bootId", boot_id},
                 {"uid", entry.uid},
                 {"namespace", entry.ns},
                 {"name", entry.name},
                 {"phase", entry.phase == ClaimPhase::prepared ? "prepared" : "preparing"},
                 {"devices", std::move(devices)}});
}

std::string encode_end(const std::string& uid, std::string_view boot_id) {
  return line_of(JsonObject{{"bootId", boot_id}, {"uid", uid}, {"phase", "unprepared"}});
}

std::optional<std::vector<std::string>> texts_of(const Json* array) {
  if (array == nullptr || !array->is_array()) return std::nullopt;
  std::vector<std::string> texts;
  for (const Json& item : array->get_array()) {
    if (!item.is_string()) return std::nullopt;
    texts.emplace_back(as_text(&item));
  }
  return texts;
}

std::optional<PreparedDevice> device_of(const Json& json) {
  auto requests = texts_of(lockstep::find(json, "requests"));
  auto cdi_ids = texts_of(lockstep::find(json, "cdiIds"));
  PreparedDevice device;
  device.pool = text_at(json, "pool");
  device.device = text_at(json, "device");
  device.share_id = text_at(json, "shareId");
  device.admin_access = as_bool(lockstep::find(json, "adminAccess"));
  if (!requests || !cdi_ids || device.pool.empty() || device.device.empty()) return std::nullopt;
  device.requests = std::move(*requests);
  device.cdi_ids = std::move(*cdi_ids);
  device.environment = texts_of(lockstep::find(json, "environment")).value_or(Texts());
  device.time_slice = text_at(json, "timeSlice");
  return device;
}

std::optional<CheckpointEntry> entry_of(const Json& json) {
  CheckpointEntry entry;
  entry.uid = text_at(json, "uid");
  entry.ns = text_at(json, "namespace");
  entry.name = text_at(json, "name");
  std::string_view phase = text_at(json, "phase");
  const Json* devices = lockstep::find(json, "devices");
  bool is_phase = phase == "prepared" || phase == "preparing";
  if (entry.uid.empty() || !is_phase || devices == nullptr || !devices->is_array()) {
    return std::nullopt;
  }
  entry.phase = phase == "prepared" ? ClaimPhase::prepared : ClaimPhase::preparing;
  for (const Json& item : devices->get_array()) {
    auto device = device_of(item);
    if (!device) return std::nullopt;
    entry.devices.push_back(std::move(*device));
  }
  return entry;
}

// Why a line is bad; empty: it was taken in.
std::string take_line(std::string_view line, std::string_view boot_id, CheckpointReading& reading) {
  if (line.size() <= checksum_length + 1 || line[checksum_length] != ' ')
    return "it has no checksum";
  std::string_view text = line.substr(checksum_length + 1);
  // Over the bytes as they are: two programs may write the same value in different ways.
  if (sha256_hex(text) != line.substr(0, checksum_length)) return "its checksum does not match";
  auto json = parse_json(text);
  if (!json) return "it is no JSON: " + json.error().text();
  bool is_end = text_at(*json, "phase") == "unprepared" && !text_at(*json, "uid").empty();
  if (is_end) {
    if (text_at(*json, "bootId") == boot_id)
      reading.entries.erase(std::string(text_at(*json, "uid")));
    return "";
  }
  auto entry = entry_of(*json);
  if (!entry) return "it is no entry of a claim";
  if (text_at(*json, "bootId") != boot_id) {
    ++reading.from_before;
    return "";
  }
  std::string uid = entry->uid;
  reading.entries[uid] = std::move(*entry);
  return "";
}

}  // namespace

std::string encode_checkpoint(const CheckpointEntries& entries, std::string_view boot_id) {
  std::string text = std::string(header) + "\n";
  for (const auto& [uid, entry] : entries) text += encode_line(entry, boot_id);
  return text;
}

CheckpointReading decode_checkpoint(std::string_view bytes, std::string_view boot_id) {
  CheckpointReading reading;
  if (bytes.empty()) return reading;
  auto lines = split(bytes, '\n');
  if (lines.front() != header && lines.front() != first_header) {
    reading.bad_lines.emplace_back(bytes);
    reading.problems.emplace_back("this is no checkpoint, or one of another version");
    return reading;
  }
  for (size_t i = 1; i < lines.size(); ++i) {
    if (lines[i].empty()) continue;
    ++reading.lines;
    // What comes after the last end of a line.
    bool is_cut_off = i + 1 == lines.size();
    reading.is_cut_off = is_cut_off;
    std::string why = take_line(lines[i], boot_id, reading);
    if (why.empty() || is_cut_off) continue;
    reading.bad_lines.emplace_back(lines[i]);
    reading.problems.push_back(fmt::format("line {}: {}", i + 1, why));
  }
  return reading;
}

Result<Checkpoint> Checkpoint::open(StateFiles& files, std::string path, std::string boot_id,
                                    Log& log) {
  Checkpoint checkpoint(files, std::move(path), std::move(boot_id), log);
  LOCKSTEP_CHECK(checkpoint.read());
  return checkpoint;
}

Result<void> Checkpoint::reload() {
  auto now = files_->fingerprint(path_);
  if (now && *now == fingerprint_) return {};
  return read();
}

namespace {

// Best effort, for later examination: valid claims do not depend on it.
void set_aside(Files& files, const std::string& path, const std::vector<std::string>& lines,
               Log& log) {
  std::string kept = files.exists(path) ? files.read(path).value_or("") : "";
  for (const auto& line : lines) kept += line + "\n";
  if (kept.size() > set_aside_limit) kept.erase(0, kept.size() - set_aside_limit);
  if (auto written = files.write(path, kept, 0600); !written) {
    log.warning("what was damaged could not be kept", {{"error", written.error().text()}});
  }
}

}  // namespace

Result<void> Checkpoint::read() {
  std::string bytes;
  if (files_->exists(path_)) {
    LOCKSTEP_TRY(bytes, files_->read(path_));
  }
  std::string seen = files_->fingerprint(path_).value_or("");
  CheckpointReading reading = decode_checkpoint(bytes, boot_id_);
  for (const auto& problem : reading.problems) {
    log_->error("a part of the checkpoint cannot be read, and is set aside",
                {{"file", path_}, {"problem", problem}});
  }
  if (!reading.bad_lines.empty()) {
    set_aside(*files_, path_ + ".set-aside", reading.bad_lines, *log_);
  }
  if (reading.from_before > 0) {
    log_->info("the machine was restarted: earlier claims are dropped",
               {{"claims", std::to_string(reading.from_before)}});
  }
  if (reading.is_cut_off) {
    log_->info("the process before ended in the middle of a line of the checkpoint",
               {{"file", path_}});
  }
  bool is_as_it_was = reading.problems.empty() && reading.from_before == 0 && !reading.is_cut_off &&
                      bytes.starts_with(header);
  // Also the first time: an error of writing shows now, and not at the first claim.
  if (!is_as_it_was) return write(std::move(reading.entries));
  entries_ = std::move(reading.entries);
  fingerprint_ = std::move(seen);
  lines_ = reading.lines;
  must_replace_ = false;
  return {};
}

const CheckpointEntry* Checkpoint::find(const std::string& uid) const {
  auto found = entries_.find(uid);
  return found == entries_.end() ? nullptr : &found->second;
}

Result<void> Checkpoint::put(CheckpointEntry entry) {
  std::vector<CheckpointEntry> one;
  one.push_back(std::move(entry));
  return put(std::move(one));
}

Result<void> Checkpoint::erase(const std::string& uid) {
  return erase(std::vector<std::string>{uid});
}

Result<void> Checkpoint::put(std::vector<CheckpointEntry> entries) {
  if (entries.empty()) return {};
  CheckpointEntries all = entries_;
  std::string lines;
  const size_t count = entries.size();
  for (CheckpointEntry& entry : entries) {
    lines += encode_line(entry, boot_id_);
    std::string uid = entry.uid;
    all[uid] = std::move(entry);
  }
  return commit(lines, count, std::move(all));
}

Result<void> Checkpoint::erase(const std::vector<std::string>& uids) {
  CheckpointEntries all = entries_;
  std::string lines;
  size_t count = 0;
  for (const std::string& uid : uids) {
    if (all.erase(uid) == 0) continue;
    lines += encode_end(uid, boot_id_);
    ++count;
  }
  return count == 0 ? Result<void>() : commit(lines, count, std::move(all));
}

Result<void> Checkpoint::commit(const std::string& lines, size_t count, CheckpointEntries entries) {
  bool is_long = lines_ + count > 2 * entries.size() + old_lines_allowed;
  if (must_replace_ || is_long) return write(std::move(entries));
  if (auto appended = files_->append(path_, lines); !appended) {
    must_replace_ = true;
    return appended;
  }
  entries_ = std::move(entries);
  lines_ += count;
  fingerprint_ = files_->fingerprint(path_).value_or("");
  return {};
}

// Files::write syncs the file, replaces the old one in one step, and syncs the directory.
Result<void> Checkpoint::write(CheckpointEntries entries) {
  LOCKSTEP_CHECK(files_->write(path_, encode_checkpoint(entries, boot_id_), 0600));
  entries_ = std::move(entries);
  lines_ = entries_.size();
  must_replace_ = false;
  fingerprint_ = files_->fingerprint(path_).value_or("");
  return {};
}

}  // namespace lockstep::dra

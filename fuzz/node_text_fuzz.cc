// Texts of a node that others have written: lines of the kernel log, lists of XIDs, a baseline of
// the gate, the plugin's checkpoint, NVML's answer from its own process, the opaque parameters of a
// claim. No crash; an error has words; what was read from a checkpoint can be written and read
// again, wherever the file was cut off; parameters that were accepted name no variable of ours.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/strings.h"
#include "document_from_bytes.h"
#include "dra/checkpoint.h"
#include "dra/driver_state.h"
#include "dra/gpu_config.h"
#include "dra/inventory.h"
#include "gpu/baseline.h"
#include "gpu/xid.h"

namespace {

using namespace lockstep;
using lockstep::fuzz::require;

void check_checkpoint(std::string_view bytes) {
  const dra::CheckpointReading reading = dra::decode_checkpoint(bytes, "boot");
  require(reading.problems.size() == reading.bad_lines.size(), "each bad line has its reason");
  for (const auto& [uid, entry] : reading.entries) {
    require(!uid.empty() && entry.uid == uid, "an entry is found by its uid");
  }
  const std::string text = dra::encode_checkpoint(reading.entries, "boot");
  const dra::CheckpointReading again = dra::decode_checkpoint(text, "boot");
  require(again.problems.empty() && !again.is_cut_off, "what we write is whole");
  require(again.entries == reading.entries, "and is the same");
  const dra::CheckpointReading cut =
      dra::decode_checkpoint(std::string_view(text).substr(0, text.size() / 2), "boot");
  for (const auto& [uid, entry] : cut.entries) {
    require(again.entries.at(uid) == entry, "half a file has no other claims");
  }
  require(dra::decode_checkpoint(text, "another boot").entries.empty(), "a new start forgets all");
}

void check_config(std::string_view text) {
  const auto json = parse_json(text);
  if (!json) return;
  const auto config = dra::decode_gpu_config(*json);
  if (!config) {
    require(config.error().kind == ErrorKind::invalid, "it is the request's fault");
    require(!config.error().message.empty(), "an error has words");
    return;
  }
  require(!config->interval || config->sharing == dra::Sharing::time_slicing,
          "an interval is of time slicing");
  for (const auto& [name, value] : config->environment) {
    require(!name.empty() && name.find('=') == std::string::npos, "a variable has a name");
    require(!name.starts_with("LOCKSTEP_") && !name.starts_with("LD_"), "and it is not ours");
    require(value.find('\0') == std::string::npos, "its value is a text");
  }
}

void check_xids(std::string_view text) {
  for (std::string_view line : split(text, '\n')) {
    if (const auto xid = gpu::xid_in(line)) {
      require(xid->code >= 0, "a code is a number");
      require(xid->line.size() <= line.size(), "a line is no longer than it was");
    }
  }
  const auto classes = gpu::XidClasses::read(text, "xid.yaml");
  if (classes) {
    (void)classes->meaning(79);
  } else {
    require(!classes.error().message.empty(), "an error has words");
  }
}

void check_baseline(std::string_view text) {
  const auto facts = gpu::read_baseline(text, "baseline.json");
  if (!facts) {
    require(facts.error().kind == ErrorKind::invalid, "a wrong file is wrong input");
    return;
  }
  const auto again = gpu::read_baseline(gpu::baseline_text(*facts, Time::from_unix(1)), "again");
  require(again.has_value() && json_equal(*again, *facts), "what was read can be saved and read");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_checkpoint(text);
  check_config(text);
  check_xids(text);
  check_baseline(text);
  (void)dra::module_version_in(text);
  if (const auto inventory = dra::read_inventory(text); !inventory) {
    require(!inventory.error().message.empty(), "an error has words");
  }
  return 0;
}

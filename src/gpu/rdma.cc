#include "gpu/rdma.h"

#include <filesystem>

#include "base/strings.h"
#include "gpu/host_facts.h"

namespace lockstep::gpu {

namespace {

// "4: ACTIVE" is ACTIVE.
std::string after_colon(const std::string& text) {
  size_t colon = text.find(':');
  return std::string(trim(colon == std::string::npos ? std::string_view(text)
                                                     : std::string_view(text).substr(colon + 1)));
}

// "400 Gb/sec (4X NDR)", "2.5 Gb/sec (1X SDR)".
std::optional<double> gigabits_in(const std::string& text) {
  const std::string number(text.substr(0, text.find(' ')));
  char* end = nullptr;
  const double value = std::strtod(number.c_str(), &end);
  if (number.empty() || end == number.c_str()) return std::nullopt;
  return value;
}

void add_counters(const std::string& port, JsonObject& facts) {
  for (const char* name :
       {"link_downed", "link_error_recovery", "symbol_error", "port_rcv_errors"}) {
    if (auto text = read_small_file(port + "/counters/" + name)) {
      if (auto value = parse_unsigned(*text)) facts[name] = *value;
    }
  }
}

JsonObject device_facts(const std::string& root, const std::string& device) {
  JsonObject facts;
  const std::string verbs = root + "/sys/class/infiniband_verbs";
  for (const std::string& name : names_in(verbs)) {
    if (read_small_file(verbs + "/" + name + "/ibdev") != device) continue;
    std::error_code problem;
    facts["uverbs"] = name;
    facts["uverbs_there"] = std::filesystem::exists(root + "/dev/infiniband/" + name, problem);
  }
  const std::string here = root + "/sys/class/infiniband/" + device + "/device";
  std::error_code problem;
  const auto driver = std::filesystem::read_symlink(here + "/driver", problem);
  if (driver.filename() == "efa") {
    facts["efa"] = true;
    // EFA's own state says nothing of the cable; the network device beside it does.
    for (const std::string& name : names_in(here + "/net")) {
      if (auto carrier = read_small_file(here + "/net/" + name + "/carrier"))
        facts["carrier"] = *carrier == "1";
    }
  }
  return facts;
}

}  // namespace

JsonObject rdma_ports(const std::string& root) {
  JsonObject ports;
  const std::string all = root + "/sys/class/infiniband";
  for (const std::string& device : names_in(all)) {
    const JsonObject common = device_facts(root, device);
    for (const std::string& number : names_in(all + "/" + device + "/ports")) {
      const std::string port = all + "/" + device + "/ports/" + number;
      JsonObject facts = common;
      if (auto text = read_small_file(port + "/state")) facts["state"] = after_colon(*text);
      if (auto text = read_small_file(port + "/phys_state"))
        facts["phys_state"] = after_colon(*text);
      if (auto text = read_small_file(port + "/rate")) {
        if (auto rate = gigabits_in(*text)) facts["gigabits_per_second"] = *rate;
      }
      add_counters(port, facts);
      ports[device + "/" + number] = std::move(facts);
    }
  }
  return ports;
}

}  // namespace lockstep::gpu

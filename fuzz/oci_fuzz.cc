// Any bytes as what a registry or a user may send: a tar archive, a WWW-Authenticate header, a
// reference. No crash; an archive that is accepted holds paths that stay inside and can be written
// and read again; a reference that is accepted means the same when it is printed and read again.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/strings.h"
#include "bundle/tar.h"
#include "document_from_bytes.h"
#include "registry/challenge.h"
#include "registry/reference.h"

namespace {

using namespace lockstep;
using lockstep::fuzz::require;

void check_tar(std::string_view archive) {
  const auto files = bundle::read_tar(archive);
  if (!files) {
    require(!files.error().message.empty(), "an error has words");
    return;
  }
  for (const auto& [path, file] : *files) {
    require(!path.empty() && path.front() != '/', "paths are relative");
    require(path.find('\0') == std::string::npos, "paths are texts");
    for (std::string_view part : split(path, '/')) require(part != "..", "paths stay inside");
  }
  const auto again = bundle::read_tar(bundle::write_tar(*files));
  require(again.has_value(), "what was read can be written and read");
  require(*again == *files, "and is the same");
}

// Written by us, with the fuzzer's bytes for names and contents.
void check_written(std::string_view text) {
  bundle::BundleFiles files;
  std::string name = "a";
  for (std::string_view line : split(text, '\n')) {
    bool plain = !line.empty() && line.find('\0') == std::string_view::npos;
    for (std::string_view part : split(line, '/')) {
      plain = plain && !part.empty() && part != "." && part != "..";
    }
    if (plain) name = line;
    files[name] = {std::string(line), line.size() % 2 == 0};
  }
  const auto read = bundle::read_tar(bundle::write_tar(files));
  require(read.has_value(), "what we pack can be unpacked");
  require(*read == files, "and is the same");
}

void check_challenges(std::string_view header) {
  for (const registry::Challenge& challenge : registry::parse_challenges(header)) {
    for (char letter : challenge.scheme) {
      require(letter < 'A' || letter > 'Z', "schemes are in lower case");
    }
    for (const auto& [name, value] : challenge.parameters) {
      require(challenge.parameter(name) == value, "parameters are found by name");
    }
  }
}

void check_reference(std::string_view text) {
  const auto reference = registry::parse_reference(text);
  if (!reference) {
    require(!reference.error().message.empty(), "an error has words");
    return;
  }
  require(registry::looks_like_reference(text), "a reference looks like one");
  require(!reference->tag.empty(), "there is always a tag");
  require(reference->is_directory() != !reference->host.empty(), "a directory or a registry");
  require(reference->host.find_first_of(" \r\n/@") == std::string::npos, "a host is one");
  const auto again = registry::parse_reference(reference->text());
  require(again.has_value(), "a printed reference can be read");
  require(*again == *reference, "and is the same");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_tar(text);
  check_written(text);
  check_challenges(text);
  check_reference(text);
  check_reference("oci://" + std::string(text));
  return 0;
}

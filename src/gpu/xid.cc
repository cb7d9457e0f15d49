#include "gpu/xid.h"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <limits>
#include <unistd.h>

#include "base/strings.h"
#include "data/strict_reader.h"
#include "gpu/embedded_text.h"

namespace lockstep::gpu {

namespace {

constexpr std::pair<std::string_view, XidClass> kinds[] = {{"fatal", XidClass::fatal},
                                                           {"application", XidClass::application},
                                                           {"information", XidClass::information}};

}  // namespace

std::optional<Xid> xid_in(std::string_view line) {
  constexpr std::string_view mark = "NVRM: Xid (";
  size_t begin = line.find(mark);
  if (begin == std::string_view::npos) return std::nullopt;
  std::string_view rest = line.substr(begin + mark.size());
  size_t close = rest.find("): ");
  if (close == std::string_view::npos) return std::nullopt;
  Xid xid;
  std::string_view place = rest.substr(0, close);
  if (place.starts_with("PCI:")) place.remove_prefix(4);
  xid.pci = lower(place);
  rest.remove_prefix(close + 3);
  auto code = parse_integer(rest.substr(0, rest.find_first_not_of("0123456789")));
  // NVIDIA's have three digits: a number that does not even fit is not a code.
  if (!code || *code > std::numeric_limits<int>::max()) return std::nullopt;
  xid.code = static_cast<int>(*code);
  xid.line = std::string(trim(line.substr(begin)));
  return xid;
}

Result<XidClasses> XidClasses::read(std::string_view yaml, std::string_view name) {
  LOCKSTEP_TRY(const YamlFile file, YamlFile::parse(std::string(name), std::string(yaml)));
  XidClasses classes;
  Reading reading(file, {.refuse_null = true});
  reading.map(file.json, [&](StrictReader& reader) {
    reader.each("xids", [&](StrictReader& entry) {
      int code = 0;
      XidMeaning meaning;
      entry.number("xid", code).required("xid");
      entry.choice("class", meaning.kind, kinds).required("class");
      entry.text("about", meaning.about);
      classes.meanings_[code] = std::move(meaning);
    });
    reader.required("xids");
  });
  LOCKSTEP_CHECK(reading.result());
  return classes;
}

Result<XidClasses> XidClasses::embedded() { return read(xid_yaml, "recipes/xid.yaml"); }

XidMeaning XidClasses::meaning(int code) const {
  auto known = meanings_.find(code);
  return known == meanings_.end() ? XidMeaning{XidClass::fatal, "not in recipes/xid.yaml"}
                                  : known->second;
}

KernelLog::KernelLog(const std::string& root) {
  descriptor_ = open((root + "/dev/kmsg").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor_ >= 0) lseek(descriptor_, 0, SEEK_END);
}

KernelLog::~KernelLog() {
  if (descriptor_ >= 0) close(descriptor_);
}

std::vector<Xid> KernelLog::read() {
  std::vector<Xid> xids;
  std::array<char, 8192> buffer{};
  while (descriptor_ >= 0) {
    ssize_t count = ::read(descriptor_, buffer.data(), buffer.size());
    if (count < 0 && (errno == EINTR || errno == EPIPE)) continue;  // EPIPE: lines were lost; go on
    if (count <= 0) break;
    rest_.append(buffer.data(), static_cast<size_t>(count));
  }
  size_t begin = 0;
  for (size_t end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n', begin)) {
    if (auto xid = xid_in(std::string_view(rest_).substr(begin, end - begin)))
      xids.push_back(std::move(*xid));
    begin = end + 1;
  }
  rest_.erase(0, begin);
  return xids;
}

}  // namespace lockstep::gpu

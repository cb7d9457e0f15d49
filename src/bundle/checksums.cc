#include "bundle/checksums.h"

#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/sha256.h"
#include "base/strings.h"

namespace lockstep::bundle {

namespace {

constexpr size_t digest_size = 64;

struct ChecksumEntry {
  std::string digest;
  std::string path;
};

// As sha256sum does: a line with such a name begins with a backslash.
std::string escaped(std::string_view path) {
  std::string text;
  for (const char c : path) {
    if (c == '\\') {
      text += "\\\\";
    } else if (c == '\n') {
      text += "\\n";
    } else if (c == '\r') {
      text += "\\r";
    } else {
      text += c;
    }
  }
  return text;
}

std::optional<std::string> unescaped(std::string_view text) {
  std::string path;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      path += text[i];
      continue;
    }
    if (++i == text.size()) return std::nullopt;
    if (text[i] == '\\') {
      path += '\\';
    } else if (text[i] == 'n') {
      path += '\n';
    } else if (text[i] == 'r') {
      path += '\r';
    } else {
      return std::nullopt;
    }
  }
  return path;
}

// "<digest>  <path>", or with a '*' before the path, for binary; both mean the same.
Result<ChecksumEntry> read_line(std::string_view line) {
  const bool is_escaped = line.starts_with('\\');
  if (is_escaped) line.remove_prefix(1);
  const std::string_view digest = line.substr(0, digest_size);
  const std::string_view mark = line.size() > digest_size ? line.substr(digest_size, 2) : "";
  if (digest.size() < digest_size ||
      digest.find_first_not_of("0123456789abcdefABCDEF") != std::string_view::npos ||
      (mark != "  " && mark != " *") || line.size() == digest_size + 2) {
    return fail(ErrorKind::invalid,
                "is not a line of sha256sum: 64 hexadecimal digits, two "
                "blanks, a path");
  }
  const std::string_view written = line.substr(digest_size + 2);
  if (written.ends_with('\r')) {
    return fail(ErrorKind::invalid,
                "ends with a carriage return: save the file with the line ends "
                "of Unix");
  }
  std::optional<std::string> path =
      is_escaped ? unescaped(written) : std::optional<std::string>(written);
  if (!path) return fail(ErrorKind::invalid, "has a broken escape in its path");
  // As `find . | xargs sha256sum` writes them.
  if (path->starts_with("./")) path->erase(0, 2);
  return ChecksumEntry{lower(digest), std::move(*path)};
}

Result<void> check_path(std::string_view path) {
  if (path == checksums_file) {
    return failf(ErrorKind::invalid, "names {} itself, which cannot hold its own checksum",
                 checksums_file);
  }
  for (const std::string_view part : split(path, '/')) {
    if (!part.empty() && part != "." && part != "..") continue;
    return failf(ErrorKind::invalid, "the path '{}' does not stay in the bundle", escaped(path));
  }
  return {};
}

using Digests = std::map<std::string, std::string, std::less<>>;

Result<Digests> read_all(std::string_view text) {
  Digests digests;
  size_t number = 0;
  for (const std::string_view line : split(text, '\n')) {
    ++number;
    if (line.empty()) continue;
    const auto at_line = [&](Error error) {
      return fail(error.at(fmt::format("{}:{}", checksums_file, number)));
    };
    Result<ChecksumEntry> entry = read_line(line);
    if (!entry) return at_line(entry.error());
    if (auto valid = check_path(entry->path); !valid) return at_line(valid.error());
    if (digests.contains(entry->path)) {
      return at_line(
          {ErrorKind::invalid, fmt::format("names '{}' a second time", escaped(entry->path)), {}});
    }
    digests[entry->path] = entry->digest;
  }
  if (digests.empty()) {
    return fail(ErrorKind::invalid, "is empty: it must name every file of the bundle",
                std::string(checksums_file));
  }
  return digests;
}

}  // namespace

std::string checksums(const BundleFiles& files) {
  std::string text;
  for (const auto& [path, file] : files) {
    if (path == checksums_file) continue;
    const std::string name = escaped(path);
    if (name != path) text += '\\';
    text += fmt::format("{}  {}\n", sha256_hex(file.content), name);
  }
  return text;
}

Result<VerifyReport> verify(std::string_view checksums_text, const BundleFiles& files) {
  LOCKSTEP_TRY(const Digests digests, read_all(checksums_text));
  VerifyReport report;
  for (const auto& [path, digest] : digests) {
    const auto file = files.find(path);
    if (file == files.end()) {
      report.missing.push_back(path);
    } else if (sha256_hex(file->second.content) != digest) {
      report.changed.push_back(path);
    }
  }
  for (const auto& [path, file] : files) {
    if (path != checksums_file && !digests.contains(path)) report.added.push_back(path);
  }
  return report;
}

}  // namespace lockstep::bundle

#include "bundle/tar.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>

#include "base/strings.h"

namespace lockstep::bundle {

namespace {

constexpr size_t block_size = 512;

// A field of a header, by its offset and length.
struct Field {
  size_t offset;
  size_t size;
};
constexpr Field name_field = {0, 100};
constexpr Field mode_field = {100, 8};
constexpr Field owner_field = {108, 8};
constexpr Field group_field = {116, 8};
constexpr Field size_field = {124, 12};
constexpr Field time_field = {136, 12};
constexpr Field checksum_field = {148, 8};
constexpr Field type_field = {156, 1};
constexpr Field magic_field = {257, 8};
constexpr Field major_field = {329, 8};
constexpr Field minor_field = {337, 8};
constexpr Field prefix_field = {345, 155};

constexpr std::string_view magic("ustar\00000", 8);

using Header = std::array<char, block_size>;

void put(Header& header, Field field, std::string_view text) {
  std::copy(text.begin(), text.end(), header.begin() + static_cast<ptrdiff_t>(field.offset));
}

void put_number(Header& header, Field field, uint64_t value) {
  put(header, field, fmt::format("{:0{}o}", value, field.size - 1));
}

// The sum of all bytes, the checksum's own read as spaces.
uint64_t sum_of(std::string_view header) {
  uint64_t sum = ' ' * checksum_field.size;
  for (size_t i = 0; i < block_size; ++i) {
    if (i - checksum_field.offset >= checksum_field.size) {
      sum += static_cast<unsigned char>(header[i]);
    }
  }
  return sum;
}

struct TarEntry {
  std::string_view prefix;
  std::string_view name;
  char type = '0';
  bool executable = false;
  std::string_view content;
};

void append(std::string& archive, const TarEntry& entry) {
  Header header{};
  put(header, name_field, entry.name);
  put_number(header, mode_field, entry.executable ? 0755 : 0644);
  put_number(header, owner_field, 0);
  put_number(header, group_field, 0);
  put_number(header, size_field, entry.content.size());
  put_number(header, time_field, 0);
  put(header, type_field, std::string_view(&entry.type, 1));
  put(header, magic_field, magic);
  put_number(header, major_field, 0);
  put_number(header, minor_field, 0);
  put(header, prefix_field, entry.prefix);
  // Six digits, a zero and a space: as it has been written since 1979.
  put(header, checksum_field,
      fmt::format("{:06o}{} ", sum_of({header.data(), header.size()}), '\0'));
  archive.append(header.data(), header.size());
  archive += entry.content;
  archive.append((block_size - entry.content.size() % block_size) % block_size, '\0');
}

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > 0; });
}

// Where to cut a path in two so that both parts fit into their fields; 0: it fits whole.
std::optional<size_t> cut_of(std::string_view path) {
  if (!is_ascii(path)) return std::nullopt;
  if (path.size() <= name_field.size) return 0;
  const size_t slash = path.rfind('/', prefix_field.size);
  if (slash == std::string_view::npos || slash == 0) return std::nullopt;
  if (path.size() - slash - 1 > name_field.size) return std::nullopt;
  return slash;
}

// "30 path=…\n": the length counts itself.
std::string pax_record(std::string_view key, std::string_view value) {
  const size_t rest = key.size() + value.size() + 3;
  size_t length = rest + 1;
  while (std::to_string(length).size() + rest != length) ++length;
  return fmt::format("{} {}={}\n", length, key, value);
}

std::string_view text_in(std::string_view header, Field field) {
  const std::string_view text = header.substr(field.offset, field.size);
  return text.substr(0, text.find('\0'));
}

std::optional<uint64_t> number_in(std::string_view header, Field field) {
  const std::string_view text = trim(text_in(header, field));
  uint64_t value = 0;
  for (const char digit : text) {
    if (digit < '0' || digit > '7') return std::nullopt;
    value = value * 8 + static_cast<uint64_t>(digit - '0');
  }
  return text.empty() ? std::nullopt : std::optional(value);
}

// The path that a pax header gives to the entry after it; empty: none.
Result<std::string> path_in_pax(std::string_view records) {
  std::string path;
  while (!records.empty()) {
    const size_t space = records.find(' ');
    const auto length = parse_unsigned(records.substr(0, space));
    if (space == std::string_view::npos || !length || *length <= space + 1 ||
        *length > records.size() || records[*length - 1] != '\n') {
      return fail(ErrorKind::invalid, "a broken pax header");
    }
    const std::string_view record = records.substr(space + 1, *length - space - 2);
    if (record.starts_with("path=")) path = record.substr(5);
    records.remove_prefix(*length);
  }
  return path;
}

bool stays_inside(std::string_view path) {
  if (path.find('\0') != std::string_view::npos) return false;  // would end there on disk
  for (const std::string_view part : split(path, '/')) {
    if (part.empty() || part == "." || part == "..") return false;
  }
  return true;
}

}  // namespace

std::string write_tar(const BundleFiles& files) {
  std::string archive;
  for (const auto& [path, file] : files) {
    TarEntry entry{"", path, '0', file.executable, file.content};
    if (const auto cut = cut_of(path); !cut) {
      append(archive, {"", "PaxHeaders/path", 'x', false, pax_record("path", path)});
      entry.name = "path-in-the-header-before";
    } else if (*cut > 0) {
      entry.prefix = entry.name.substr(0, *cut);
      entry.name.remove_prefix(*cut + 1);
    }
    append(archive, entry);
  }
  archive.append(2 * block_size, '\0');
  return archive;
}

Result<BundleFiles> read_tar(std::string_view archive) {
  BundleFiles files;
  std::string long_path;
  while (archive.size() >= block_size) {
    const std::string_view header = archive.substr(0, block_size);
    if (header.find_first_not_of('\0') == std::string_view::npos) return files;
    const auto sum = number_in(header, checksum_field);
    const auto size = number_in(header, size_field);
    if (!sum || *sum != sum_of(header) || !size) {
      return fail(ErrorKind::invalid, "not a tar archive, or a damaged one");
    }
    archive.remove_prefix(block_size);
    if (*size > archive.size()) break;
    const std::string_view content = archive.substr(0, *size);
    archive.remove_prefix(
        std::min<size_t>(archive.size(), (*size + block_size - 1) / block_size * block_size));

    const char type = header[type_field.offset];
    if (type == 'x') {
      LOCKSTEP_TRY(long_path, path_in_pax(content));
      continue;
    }
    std::string path = std::exchange(long_path, {});
    if (path.empty()) {
      const std::string_view prefix = text_in(header, prefix_field);
      path = fmt::format("{}{}{}", prefix, prefix.empty() ? "" : "/", text_in(header, name_field));
    }
    if (type == '5' || type == 'g') continue;
    if (type != '0' && type != '\0') {
      return failf(ErrorKind::invalid, "{} is a link or a device: a bundle has only files", path);
    }
    if (!stays_inside(path)) {
      return failf(ErrorKind::invalid, "the path \"{}\" leads out of the archive", path);
    }
    const bool executable = (number_in(header, mode_field).value_or(0) & 0100) != 0;
    if (!files.emplace(path, BundleFile{std::string(content), executable}).second) {
      return failf(ErrorKind::invalid, "{} is in the archive twice", path);
    }
  }
  return fail(ErrorKind::invalid, "the tar archive is cut off");
}

}  // namespace lockstep::bundle

#include "words.h"

#include <fstream>
#include <regex>
#include <sstream>

namespace lockstep::documentation {

namespace {

std::string without_comments(std::string_view code) {
  std::string kept;
  for (size_t begin = 0; begin < code.size();) {
    size_t end = std::min(code.find('\n', begin), code.size());
    std::string_view line = code.substr(begin, end - begin);
    size_t first = line.find_first_not_of(' ');
    bool is_comment =
        first != std::string_view::npos && line.substr(first, 2) == std::string_view("//");
    if (!is_comment) kept += std::string(line.substr(0, line.find("  // "))) + "\n";
    begin = end + 1;
  }
  return kept;
}

std::set<std::string> find_all(const std::string& text, const std::regex& pattern) {
  std::set<std::string> found;
  for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at) {
    found.insert((*at)[1].str());
  }
  return found;
}

std::string trimmed(std::string text) {
  text.erase(0, text.find_first_not_of(" `\n"));
  text.erase(text.find_last_not_of(" `\n") + 1);
  return text;
}

}  // namespace

std::string read_file(const std::filesystem::path& path) {
  std::ifstream stream(path);
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

std::map<std::string, std::string> code_of(const std::filesystem::path& folder) {
  std::map<std::string, std::string> texts;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string path = entry.path().string();
    bool is_code = path.ends_with(".cc") || path.ends_with(".h");
    if (!is_code || path.ends_with("_test.cc") || path.ends_with("_test_util.h")) continue;
    texts[path] = read_file(entry.path());
  }
  return texts;
}

std::set<std::string> capital_words(std::string_view code) {
  static const std::regex pattern(R"re("([A-Z][A-Za-z]+)")re");
  return find_all(without_comments(code), pattern);
}

std::set<std::string> small_words(std::string_view code) {
  static const std::regex pattern(R"re("([a-z][A-Za-z]*)")re");
  return find_all(without_comments(code), pattern);
}

std::set<std::string> metric_names(std::string_view code) {
  static const std::regex pattern(R"re("((?:lockstep|gpu_operator)_[a-z_]+)")re");
  return find_all(without_comments(code), pattern);
}

std::map<std::string, int> enumerators(std::string_view code) {
  std::map<std::string, int> found;
  size_t begin = code.find("enum ");
  if (begin == std::string_view::npos) return found;
  std::string body(code.substr(begin, code.find('}', begin) - begin));
  static const std::regex pattern(R"(([a-z_]+) = (\d+))");
  for (std::sregex_iterator at(body.begin(), body.end(), pattern), end; at != end; ++at) {
    found[(*at)[1].str()] = std::stoi((*at)[2].str());
  }
  return found;
}

std::map<std::string, std::string> paragraphs(std::string_view page) {
  std::map<std::string, std::string> found;
  std::string* current = nullptr;
  for (size_t begin = 0; begin < page.size();) {
    size_t end = std::min(page.find('\n', begin), page.size());
    std::string line(page.substr(begin, end - begin));
    begin = end + 1;
    if (line.rfind("### ", 0) == 0) {
      current = &found[trimmed(line.substr(4))];
    } else if (line.rfind("#", 0) == 0) {
      current = nullptr;
    } else if (current != nullptr) {
      *current += line + "\n";
    }
  }
  for (auto& [name, text] : found) text = trimmed(text);
  return found;
}

std::vector<std::string> first_cells(std::string_view page) {
  std::vector<std::string> cells;
  for (size_t begin = 0; begin < page.size();) {
    size_t end = std::min(page.find('\n', begin), page.size());
    std::string line(page.substr(begin, end - begin));
    begin = end + 1;
    if (line.rfind("| ", 0) != 0) continue;
    cells.push_back(trimmed(line.substr(1, line.find('|', 1) - 1)));
  }
  return cells;
}

}  // namespace lockstep::documentation

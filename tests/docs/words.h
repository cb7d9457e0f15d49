// Words that the code shows to users, and where the documentation explains them.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::documentation {

std::string read_file(const std::filesystem::path& path);
// The code of a folder without its tests: texts of files, by their paths.
std::map<std::string, std::string> code_of(const std::filesystem::path& folder);

// String literals of the code that are one word with a capital: reasons, phases, outcomes.
std::set<std::string> capital_words(std::string_view code);
// And those with a small letter: keys of documents, and the words that are their values.
std::set<std::string> small_words(std::string_view code);
// String literals that are names of metrics.
std::set<std::string> metric_names(std::string_view code);
// The enumerators of the first enum, with their numbers.
std::map<std::string, int> enumerators(std::string_view code);

// Headings of the third level, with the text below them.
std::map<std::string, std::string> paragraphs(std::string_view page);
// The first cells of a page's tables, without their backticks.
std::vector<std::string> first_cells(std::string_view page);

}  // namespace lockstep::documentation

// What is written for readers: phrases that the project does not use (docs/words.txt), and
// sentences that are too long to read under pressure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rules.h"

namespace lockstep::style {

struct Phrase {
  std::vector<std::string> forms;  // in small letters: `way back`, `ways back`
  std::string instead;
};

// The text of docs/words.txt: "form/form -> what to use".
std::vector<Phrase> read_phrases(std::string_view list);

// A stretch of text that is read in one go: a paragraph, an entry of a list, a cell of a table.
struct Passage {
  int line = 0;   // where it begins
  int lines = 0;  // how many it has; 1 for cells
  std::string text;
  std::vector<int> line_of;  // for each character of the text
};

// Markdown without its code: spans in backticks become the character `, which no phrase has.
std::vector<Passage> passages_of(std::string_view markdown);

// Of a page, or of passages of a source file (source_text.h).
std::vector<Finding> check_phrases(const SourceFile& page, const std::vector<Phrase>& phrases);
std::vector<Finding> find_phrases(const std::string& path, const std::vector<Passage>& passages,
                                  const std::vector<Phrase>& phrases);
// Sentences over 30 words, not counting code in backticks.
std::vector<Finding> check_sentences(const SourceFile& page);
// Paragraphs and entries of lists over seven lines: five of 100 columns.
std::vector<Finding> check_paragraphs(const SourceFile& page);

}  // namespace lockstep::style

#include "bundle/criteria.h"

#include <fmt/format.h>

#include "base/strings.h"

namespace lockstep::bundle {

namespace {

constexpr std::string_view any = "any";

}  // namespace

std::set<std::string> mismatches(const Criteria& rule, const Criteria& query) {
  std::set<std::string> fields;
  for (const CriteriaField& field : criteria_fields) {
    const std::string& said = rule.*field.value;
    if (!said.empty() && said != query.*field.value) fields.emplace(field.name);
  }
  if (rule.nodes != 0 && rule.nodes != query.nodes) fields.emplace("nodes");
  return fields;
}

int specificity(const Criteria& criteria) {
  int said = criteria.nodes != 0 ? 1 : 0;
  for (const CriteriaField& field : criteria_fields) {
    if (!(criteria.*field.value).empty()) ++said;
  }
  return said;
}

std::string describe(const Criteria& criteria) {
  std::vector<std::string> parts;
  for (const CriteriaField& field : criteria_fields) {
    const std::string& said = criteria.*field.value;
    if (!said.empty()) parts.push_back(fmt::format("{} {}", field.name, said));
  }
  if (criteria.nodes != 0) parts.push_back(fmt::format("nodes {}", criteria.nodes));
  return parts.empty() ? std::string(any) : join(parts, ", ");
}

JsonObject to_json(const Criteria& criteria) {
  JsonObject json;
  for (const CriteriaField& field : criteria_fields) {
    const std::string& said = criteria.*field.value;
    json[field.name] = said.empty() ? any : std::string_view(said);
  }
  if (criteria.nodes != 0) json["nodes"] = criteria.nodes;
  return json;
}

Result<void> CriteriaWords::add(const YamlFile& file) {
  return read_strictly(file, [&](StrictReader& object) {
    object.must_be("kind", "CriteriaWords");
    object.unused({"apiVersion"});
    for (const CriteriaField& field : criteria_fields) {
      object.within(field.name, [&](StrictReader& said) {
        Field& known = fields_[std::string(field.name)];
        std::vector<std::string> words;
        JsonObject aliases;
        said.texts("words", words).object("aliases", aliases);
        for (const std::string& word : words) {
          if (word != lower(trim(word)) || word.empty() || word == any) {
            said.refuse("words",
                        fmt::format("must be in lower case and not \"any\"; change \"{}\"", word));
          }
          known.words.insert(word);
        }
        for (const auto& [alias, meaning] : aliases) {
          std::string word(as_text(&meaning));
          if (word != any && known.words.count(word) == 0) {
            said.refuse("aliases", fmt::format("must name words of this field or \"any\"; change "
                                               "\"{}\"",
                                               std::string_view(alias)));
          }
          known.aliases[std::string(alias)] = word == any ? "" : word;
        }
      });
    }
  });
}

Result<std::string> CriteriaWords::normalize(std::string_view field, std::string_view word) const {
  std::string said = lower(trim(word));
  if (said.empty() || said == any) return std::string();
  auto known = fields_.find(field);
  if (known != fields_.end()) {
    auto alias = known->second.aliases.find(said);
    if (alias != known->second.aliases.end()) return alias->second;
    if (known->second.words.count(said) > 0) return said;
  }
  const std::set<std::string>& all = words(field);
  std::vector<std::string> candidates(all.begin(), all.end());
  return fail(ErrorKind::invalid, unknown_word(field, word, candidates));
}

Result<Criteria> CriteriaWords::normalize(Criteria criteria) const {
  for (const CriteriaField& field : criteria_fields) {
    LOCKSTEP_TRY(criteria.*field.value, normalize(field.name, criteria.*field.value));
  }
  if (criteria.nodes < 0) {
    return failf(ErrorKind::invalid, "nodes must be 0 or more, and is {}", criteria.nodes);
  }
  return criteria;
}

const std::set<std::string>& CriteriaWords::words(std::string_view field) const {
  static const std::set<std::string> none;
  auto known = fields_.find(field);
  return known == fields_.end() ? none : known->second.words;
}

void read_criteria(StrictReader& object, const CriteriaWords& words, Criteria& into) {
  for (const CriteriaField& field : criteria_fields) {
    std::string word;
    object.text(field.name, word);
    auto meant = words.normalize(field.name, word);
    if (meant) {
      into.*field.value = *meant;
    } else {
      object.refuse(field.name, meant.error().message);
    }
  }
  object.number("nodes", into.nodes);
}

}  // namespace lockstep::bundle

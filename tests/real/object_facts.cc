#include "object_facts.h"

#include <algorithm>
#include <cctype>
#include <set>

#include <fmt/format.h>

#include "base/strings.h"
#include "base/time.h"

namespace lockstep::real {

namespace {

constexpr std::string_view hash_labels[] = {"controller-revision-hash", "pod-template-hash",
                                            "pod-template-generation"};
// What no two clusters have in common.
const std::set<std::string, std::less<>> own_fields = {
    "metadata.uid", "metadata.resourceVersion", "metadata.managedFields", "metadata.selfLink"};

bool is_uuid(std::string_view text) {
  if (text.size() != 36) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash != (text[i] == '-')) return false;
    if (!dash && std::isxdigit(static_cast<unsigned char>(text[i])) == 0) return false;
  }
  return true;
}

std::string without_uuids(std::string text) {
  for (size_t at = 0; at + 36 <= text.size(); ++at) {
    if (is_uuid(std::string_view(text).substr(at, 36))) text.replace(at, 36, "<uid>");
  }
  return text;
}

bool is_owner_random(std::string_view kind) { return kind == "ReplicaSet" || kind == "Job"; }

const Json* owner_of(const Json& object) {
  const Json* owners = find(object, "metadata", "ownerReferences");
  if (owners == nullptr || !owners->is_array() || owners->get_array().empty()) return nullptr;
  return &owners->get_array().front();
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

// The random words of one cluster, and what they are called here.
class Words {
 public:
  explicit Words(const std::vector<Json>& objects) {
    for (const Json& object : objects) {
      for (std::string_view label : hash_labels) {
        std::string_view hash = text_at(object, "metadata", "labels", label);
        if (hash.size() > 4) words_["-" + std::string(hash)] = "-<hash>";
        if (hash.size() > 4) words_[std::string(hash)] = "<hash>";
      }
    }
    for (const Json& object : objects) {
      const Json* volumes = find(object, "spec", "volumes");
      if (volumes == nullptr || !volumes->is_array()) continue;
      for (const Json& volume : volumes->get_array()) {
        std::string_view name = text_at(volume, "name");
        if (name.starts_with("kube-api-access-")) words_[std::string(name)] = "kube-api-access";
      }
    }
    for (const Json& object : objects) {
      const Json* owner = owner_of(object);
      std::string_view kind = text_at(object, "kind");
      if (owner == nullptr || (kind != "Pod" && kind != "ResourceClaim")) continue;
      words_[std::string(text_at(object, "metadata", "name"))] =
          fmt::format("<{} of {} {}>", kind, text_at(*owner, "kind"),
                      kind == "Pod" ? plain(text_at(*owner, "name")) : "");
    }
  }

  // The longest first: a pod's name has its ReplicaSet's hash in it.
  std::string plain(std::string_view text) const {
    std::string result(text);
    std::vector<std::string> longest;
    for (const auto& [word, name] : words_) {
      if (text.find(word) != std::string_view::npos) longest.push_back(word);
    }
    std::sort(longest.begin(), longest.end(),
              [](const auto& a, const auto& b) { return a.size() > b.size(); });
    for (const std::string& word : longest) replace_all(result, word, words_.at(word));
    if (parse_rfc3339(result)) return "<time>";
    return without_uuids(std::move(result));
  }

 private:
  std::map<std::string, std::string> words_;
};

std::string entry_name(const Json& entry, size_t index) {
  for (std::string_view key : {"name", "type", "key", "uid", "ip"}) {
    std::string_view name = text_at(entry, key);
    if (!name.empty()) return std::string(name);
  }
  return std::to_string(index);
}

void flatten(const Json& value, const std::string& path, const Words& words, Facts& facts) {
  if (own_fields.contains(path)) return;
  if (value.is_object()) {
    if (value.get_object().empty()) facts[path] = "{}";
    for (const auto& [key, field] : value.get_object()) {
      std::string name(key);
      flatten(field, path.empty() ? name : path + "." + name, words, facts);
    }
  } else if (value.is_array()) {
    if (value.get_array().empty()) facts[path] = "[]";
    for (size_t i = 0; i < value.get_array().size(); ++i) {
      const Json& entry = value.get_array()[i];
      flatten(entry, fmt::format("{}[{}]", path, words.plain(entry_name(entry, i))), words, facts);
    }
  } else {
    facts[path] = value.is_string() ? words.plain(as_text(&value)) : print_json(value);
  }
}

// Begins like the pattern, in which a star matches anything.
bool begins_like(std::string_view text, std::string_view pattern) {
  const size_t star = pattern.find('*');
  if (star == std::string_view::npos) return text.starts_with(pattern);
  if (!text.starts_with(pattern.substr(0, star))) return false;
  text.remove_prefix(star);
  pattern.remove_prefix(star + 1);
  for (size_t skipped = 0; skipped <= text.size(); ++skipped) {
    if (begins_like(text.substr(skipped), pattern)) return true;
  }
  return false;
}

std::string name_of(const Json& object, const Words& words) {
  std::string_view kind = text_at(object, "kind");
  std::string name(text_at(object, "metadata", "name"));
  const Json* owner = owner_of(object);
  if (kind == "Pod" && owner != nullptr) {
    name = fmt::format("{} {}", text_at(*owner, "kind"), text_at(*owner, "name"));
    if (!is_owner_random(text_at(*owner, "kind"))) {
      name += fmt::format(" on {}", text_at(object, "spec", "nodeName"));
    }
  } else if (kind == "ControllerRevision" && owner != nullptr) {
    name = fmt::format("{} revision {}", text_at(*owner, "name"),
                       as_integer(find(object, "revision")));
  } else if (kind == "Event") {
    // Its own name is a time.
    name = fmt::format("{} {}: {}", text_at(object, "involvedObject", "kind"),
                       text_at(object, "involvedObject", "name"), text_at(object, "message"));
  }
  std::string_view ns = text_at(object, "metadata", "namespace");
  return words.plain(ns.empty() ? fmt::format("{} {}", kind, name)
                                : fmt::format("{} {}/{}", kind, ns, name));
}

}  // namespace

ObjectFacts facts_of(const std::vector<Json>& objects) {
  const Words words(objects);
  std::map<std::string, std::vector<Facts>> alike;
  for (const Json& object : objects) {
    Facts facts;
    flatten(object, "", words, facts);
    alike[name_of(object, words)].push_back(std::move(facts));
  }
  ObjectFacts all;
  for (auto& [name, group] : alike) {
    std::sort(group.begin(), group.end());
    for (size_t i = 0; i < group.size(); ++i) {
      all[group.size() == 1 ? name : fmt::format("{} #{}", name, i + 1)] = std::move(group[i]);
    }
  }
  return all;
}

std::vector<std::string> differences(const ObjectFacts& here, const ObjectFacts& there,
                                     const std::vector<KnownDifference>& known) {
  auto is_known = [&known](std::string_view object, std::string_view path) {
    return std::any_of(known.begin(), known.end(), [&](const KnownDifference& one) {
      return begins_like(object, one.objects) && begins_like(path, one.path);
    });
  };
  std::vector<std::string> found;
  std::set<std::string> objects;
  for (const auto* side : {&here, &there}) {
    for (const auto& [object, facts] : *side) objects.insert(object);
  }
  for (const std::string& object : objects) {
    auto one = here.find(object);
    auto other = there.find(object);
    if (one == here.end() || other == there.end()) {
      if (is_known(object, "")) continue;
      found.push_back(fmt::format("{}: only {}", object, one == here.end() ? "there" : "here"));
      continue;
    }
    std::set<std::string> paths;
    for (const auto* side : {&one->second, &other->second}) {
      for (const auto& [path, value] : *side) paths.insert(path);
    }
    for (const std::string& path : paths) {
      auto a = one->second.find(path);
      auto b = other->second.find(path);
      auto said = [](auto at, const Facts& facts) {
        return at == facts.end() ? std::string("nothing") : at->second;
      };
      std::string left = said(a, one->second);
      std::string right = said(b, other->second);
      if (left == right || is_known(object, path)) continue;
      found.push_back(fmt::format("{}: {}: {} here, {} there", object, path, left, right));
    }
  }
  return found;
}

}  // namespace lockstep::real

#include "apiserver/apply/field_set.h"

#include <algorithm>

#include "apiserver/apply/structure.h"

namespace lockstep::apiserver {

FieldSet::FieldSet() = default;
FieldSet::FieldSet(const FieldSet&) = default;
FieldSet::FieldSet(FieldSet&&) noexcept = default;
FieldSet& FieldSet::operator=(const FieldSet&) = default;
FieldSet& FieldSet::operator=(FieldSet&&) noexcept = default;
FieldSet::~FieldSet() = default;
bool FieldSet::operator==(const FieldSet&) const = default;

namespace {

auto position_of(std::vector<FieldNode>& nodes, const PathElement& element) {
  // Sets are mostly built in their order: look at the end first.
  if (!nodes.empty() && nodes.back().element < element) return nodes.end();
  return std::lower_bound(
      nodes.begin(), nodes.end(), element,
      [](const FieldNode& node, const PathElement& e) { return node.element < e; });
}

const FieldNode* node_of(const std::vector<FieldNode>& nodes, const PathElement& element) {
  const auto found = std::lower_bound(
      nodes.begin(), nodes.end(), element,
      [](const FieldNode& node, const PathElement& e) { return node.element < e; });
  return found != nodes.end() && found->element == element ? &*found : nullptr;
}

}  // namespace

FieldNode& FieldSet::descend(const PathElement& element) {
  auto position = position_of(nodes_, element);
  if (position == nodes_.end() || position->element != element) {
    position = nodes_.insert(position, FieldNode{element, false, {}});
  }
  return *position;
}

void FieldSet::insert(const FieldPath& path) {
  FieldSet* set = this;
  for (size_t i = 0; i < path.size(); ++i) {
    FieldNode& node = set->descend(path[i]);
    if (i + 1 == path.size()) node.is_member = true;
    set = &node.below;
  }
}

bool FieldSet::has(const PathElement& element) const {
  const FieldNode* node = node_of(nodes_, element);
  return node != nullptr && node->is_member;
}

bool FieldSet::has(const FieldPath& path) const {
  if (path.empty()) return false;
  const FieldSet* set = this;
  for (size_t i = 0; i + 1 < path.size(); ++i) {
    set = set->below(path[i]);
    if (set == nullptr) return false;
  }
  return set->has(path.back());
}

const FieldSet* FieldSet::below(const PathElement& element) const {
  const FieldNode* node = node_of(nodes_, element);
  return node == nullptr || node->below.empty() ? nullptr : &node->below;
}

void FieldSet::erase(const PathElement& element) {
  std::erase_if(nodes_, [&](const FieldNode& node) { return node.element == element; });
}

size_t FieldSet::size() const {
  size_t count = 0;
  for (const FieldNode& node : nodes_) count += (node.is_member ? 1 : 0) + node.below.size();
  return count;
}

void FieldSet::unite(const FieldSet& other) {
  if (nodes_.empty()) {
    nodes_ = other.nodes_;
    return;
  }
  for (const FieldNode& theirs : other.nodes_) {
    FieldNode& ours = descend(theirs.element);
    ours.is_member |= theirs.is_member;
    ours.below.unite(theirs.below);
  }
}

void FieldSet::subtract(const FieldSet& other) {
  std::erase_if(nodes_, [&](FieldNode& node) {
    const FieldNode* theirs = node_of(other.nodes_, node.element);
    if (theirs == nullptr) return false;
    if (theirs->is_member) node.is_member = false;
    node.below.subtract(theirs->below);
    return !node.is_member && node.below.empty();
  });
}

void FieldSet::intersect(const FieldSet& other) {
  std::erase_if(nodes_, [&](FieldNode& node) {
    const FieldNode* theirs = node_of(other.nodes_, node.element);
    if (theirs == nullptr) return true;
    node.is_member &= theirs->is_member;
    node.below.intersect(theirs->below);
    return !node.is_member && node.below.empty();
  });
}

void FieldSet::add_named_parents(const Schema* schema) {
  for (FieldNode& node : nodes_) {
    const bool is_field = node.element.kind == PathElement::Kind::field;
    if (!node.below.empty() && is_field && is_declared_field(schema, node.element.text)) {
      node.is_member = true;
    }
    const bool is_key = node.element.kind == PathElement::Kind::key;
    node.below.add_named_parents(is_field ? field_schema(schema, node.element.text)
                                 : is_key ? item_schema(schema)
                                          : nullptr);
  }
}

void FieldSet::visit_below(FieldPath& path,
                           const std::function<void(const FieldPath&)>& visit) const {
  for (const FieldNode& node : nodes_) {
    if (!node.is_member) continue;
    path.push_back(node.element);
    visit(path);
    path.pop_back();
  }
  for (const FieldNode& node : nodes_) {
    path.push_back(node.element);
    node.below.visit_below(path, visit);
    path.pop_back();
  }
}

void FieldSet::for_each(const std::function<void(const FieldPath&)>& visit) const {
  FieldPath path;
  visit_below(path, visit);
}

Result<FieldSet> FieldSet::decode(const Json& fields_v1) {
  if (!fields_v1.is_object()) return fail(ErrorKind::invalid, "a set of fields is a JSON object");
  FieldSet set;
  for (const auto& [key, value] : fields_v1.get_object()) {
    if (std::string_view(key) == ".") continue;
    LOCKSTEP_TRY(const std::optional<PathElement> element, PathElement::decode(key));
    // A later Kubernetes may know it; we do not, and do not keep what we cannot understand.
    if (!element) continue;
    LOCKSTEP_TRY(FieldSet below, decode(value));
    FieldNode& node = set.descend(*element);
    node.is_member |= below.empty() || find(value, ".") != nullptr;
    node.below.unite(below);
  }
  return set;
}

Json FieldSet::encode() const {
  JsonObject fields;
  fields.reserve(nodes_.size());
  for (const FieldNode& node : nodes_) {
    Json below = node.below.encode();
    if (node.is_member && !node.below.empty()) {
      JsonObject with_self;
      with_self.reserve(below.get_object().size() + 1);
      with_self.emplace(".", JsonObject());
      for (auto& member : below.get_object())
        with_self.emplace(member.key(), std::move(member.value()));
      below = std::move(with_self);
    }
    fields.emplace(node.element.encoded(), std::move(below));
  }
  return fields;
}

namespace {

// What an encoded set has at an element: null when nothing.
const Json* encoded_below(const Json& fields_v1, const PathElement& element) {
  const Json* found = find(fields_v1, element.encoded());
  return found == nullptr || !found->is_object() ? nullptr : found;
}

bool is_encoded_member(const Json& node) {
  return node.get_object().empty() || node.get_object().contains(".");
}

}  // namespace

bool FieldSet::overlaps(const Json& fields_v1) const {
  return std::any_of(nodes_.begin(), nodes_.end(), [&](const FieldNode& node) {
    const Json* theirs = encoded_below(fields_v1, node.element);
    if (theirs == nullptr) return false;
    return (node.is_member && is_encoded_member(*theirs)) || node.below.overlaps(*theirs);
  });
}

bool FieldSet::is_within(const Json& fields_v1) const {
  return std::all_of(nodes_.begin(), nodes_.end(), [&](const FieldNode& node) {
    const Json* theirs = encoded_below(fields_v1, node.element);
    if (theirs == nullptr || (node.is_member && !is_encoded_member(*theirs))) return false;
    return node.below.is_within(*theirs);
  });
}

}  // namespace lockstep::apiserver
